"""The plugin for Claude Code: its commands, its hooks, and the program that every hook runs.

`hook.py` and `client.py` are a separate program, started at every tool call; it imports no other
module of this package.
"""
