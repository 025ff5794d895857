"""The team's folder on disk: its lock, the server's address, the operator's token.

Imports little, so that a client can find a server without loading one.
"""
