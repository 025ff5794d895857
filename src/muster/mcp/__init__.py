"""MCP: the team as tools, resources and prompts for any agent that speaks the protocol.

A tool parses its arguments, makes requests of `muster.client.requests` as the caller that its token
names, and renders the answers. The routes of HTTP check and decide; there is no other way in. Over
HTTP (`POST /mcp`) those requests are answered in the same process, over stdio (`muster mcp`) the
client sends them to the server. The SDK is imported by `serving.py` and `stdio.py` alone, when they
are first used.
"""
