"""Known programs, and the effects of each for its arguments."""
