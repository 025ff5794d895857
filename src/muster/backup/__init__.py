"""Backups of a home: making one while the team runs, and restoring one into a new home.

Owns the format of a backup, and what belongs into it. Imports the store and the engine.
"""
