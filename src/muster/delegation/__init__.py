"""Delegation: conversations, tasks, and the session folder that mirrors them.

Imports the engine, views, routing and permissions.
"""
