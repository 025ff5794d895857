"""`agent_state.json`: desired and current state of one agent, as a file."""
