"""The runtime `codex`: Codex by its own protocol, `codex app-server`."""
