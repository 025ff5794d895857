"""Permissions of states, as data, and the judge of tool calls. `judge.py` is the entry point.

The package imports nothing else of muster and little of the standard library: it also runs inside
a hook, and every tool call of an agent starts a new Python for its hook.
"""
