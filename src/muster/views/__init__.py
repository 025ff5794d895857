"""Views: read models of a team, one for HTTP, command line and client.

Pure where they can be; imports machines and the store's protocol.
"""
