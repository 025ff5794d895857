"""The runtime `acp`: any agent that speaks the Agent Client Protocol."""
