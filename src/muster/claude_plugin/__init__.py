"""The plugin for Claude Code: its commands, its hooks, and what every hook runs.

`hook.py` with `client.py` is a program of its own, started at every tool call; it imports nothing
else from here.
"""
