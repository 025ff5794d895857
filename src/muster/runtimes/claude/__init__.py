"""The runtime `claude`: one long-lived session of the real Claude Code for each seat.

`runtime.py` starts it, `session.py` is one life of it, `wire.py` the pipes in between. What comes
over them is understood in `reading.py`, and muster's own tools and the questions of what it may do
are in `asking.py`. Only `starting.py` and what it uses import the SDK: when a session starts.
"""
