"""Signing in from a browser: one-time codes, sessions of browsers, and their routes.

Owns `browser-sessions.json` in the home. Imports the routing of `muster.http` and the pages of
`muster.http.page`.
"""
