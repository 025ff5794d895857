"""The inbox: what an agent has to do next, handed over exactly once and in order.

Imports the engine and views.
"""
