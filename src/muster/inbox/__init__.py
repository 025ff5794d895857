"""The inbox: the next task and the new messages of an agent, delivered exactly once and in order.

Imports the engine and views.
"""
