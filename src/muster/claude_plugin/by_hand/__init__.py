"""Claude Codes that people run by hand: agents of the team on the evidence of their hooks."""
