"""The memory of an agent: what it is given when it wakes."""
