"""Programs that run for one piece of work."""
