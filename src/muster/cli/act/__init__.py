"""Verbs that act in a running team."""
