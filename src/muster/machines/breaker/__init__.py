"""The breaker: how fast agents and channels spend, and when that is a runaway.

Owns burn rates, the comparison of messages, and the permission of a person to go on. The machines
of run control and turns ask it before they let work go on.
"""
