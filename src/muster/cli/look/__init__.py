"""Verbs that show a team, whether or not it runs."""
