"""Inbox files: messages to and from agents that live on files."""
