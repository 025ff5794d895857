"""Hooks of Claude Code: the socket on which they ask, and the desk that answers them."""
