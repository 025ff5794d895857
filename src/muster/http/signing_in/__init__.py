"""Signing in from a browser: one-time codes, sessions of browsers, and their routes.

Owns `browser-sessions.json` in the home. Imports the routing and the static files of `muster.http`.
"""
