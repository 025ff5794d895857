"""Conversations that another program leads, recorded from its hooks."""
