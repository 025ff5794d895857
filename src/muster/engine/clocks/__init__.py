"""Clocks of a team: the machine's, carried on, and that of the machine that keeps its log."""
