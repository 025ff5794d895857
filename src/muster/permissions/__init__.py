"""What a state may do: permissions as data, and a judge of tool calls. `judge.py` is the way in.

It imports nothing of muster and little of the standard library, because it also runs inside a hook
at every tool call of an agent, where a new Python starts each time.
"""
