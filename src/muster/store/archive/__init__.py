"""Archived events: old events of an SQLite log in compressed files, which every reader still reads.

Owns the format of these files, and moving events into them. The log knows every file by its digest.
"""
