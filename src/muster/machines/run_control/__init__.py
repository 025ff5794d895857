"""The run control machine: whether an agent should run, and the one gate for sessions."""
