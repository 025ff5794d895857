"""The runtime `claude`: one long-lived session of the real Claude Code for each seat.

`runtime.py` starts it, `session.py` is one life of it, `protocol/` what is said in between. Its
messages are understood in `reading.py`, and questions of what it may do are answered in
`asking.py`. The SDK of Claude Code only brings the program along: nothing imports it.
"""
