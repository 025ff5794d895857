"""The plugin for Claude Code: its commands, its hooks, and `hook.py`, which every hook runs.

`hook.py` is a program of its own, started at every tool call. Nothing here may be imported by it.
"""
