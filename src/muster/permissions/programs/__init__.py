"""Programs that a command line can run, and what each does with its arguments."""
