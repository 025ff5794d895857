"""Verbs that delegate, with or without a server."""
