"""The plugin that Claude Code loads: commands, hooks, and the client each hook runs."""
