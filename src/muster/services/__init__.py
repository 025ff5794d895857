"""What muster does: the one write path, the feed, the timers and the reactors."""
