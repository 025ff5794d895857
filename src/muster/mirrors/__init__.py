"""Mirrors: files shared with other programs, kept in step with the log in both directions.

Imports the engine and machines.
"""
