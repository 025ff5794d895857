"""Nodes: the machines that run sessions of a team, and where each session is placed.

Owns which nodes there are, which of them are away, and where an agent belongs. A team whose log is
in its home has one node, `here`. Run control asks for a place; leases and processes are not known
here.
"""
