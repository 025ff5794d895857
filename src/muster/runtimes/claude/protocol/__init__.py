"""The protocol of Claude Code, a JSON object in each line: requests, prompts and messages.

`peer.py` is the other end of a session, `messages.py` what the program says, `prompt_messages.py`
what it is told, and `tool_server.py` the messages of MCP within, for muster's own tools.
"""
