"""Verbs that run a team: `up`, `run`."""
