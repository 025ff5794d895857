"""Agents of several makers: the real programs against a scripted model on loopback."""
