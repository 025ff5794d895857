"""Delegation: conversations, tasks, and the session folder that mirrors them.

Imports the engine, sessions, views, routing and permissions. Programs are run by the reactor in
`sessions`; delegation writes their prompts and records their results.
"""
