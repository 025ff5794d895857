"""Delegation: conversations, tasks, and the session folder that mirrors them.

Imports the engine, sessions, views, routing and permissions. Programs are run by the reactor in
`sessions`; delegation says what they are told, and takes in what came of it.
"""
