"""Sessions of programs that work on one prompt at a time: what the runtimes of agents share."""
