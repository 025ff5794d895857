"""Notifications: people are told where they are of what needs them.

Owns the targets (webhook, ntfy, Slack, e-mail, a command), what was told already, quiet hours and
retries. What needs a person is decided by `machines/needs`. Imports settings, engine and views.
"""
