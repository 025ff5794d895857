"""MCP over HTTP: its route, and the requests of a tool within the request that carries its call."""
