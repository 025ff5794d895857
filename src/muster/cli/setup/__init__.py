"""Verbs that set up and explain: `init`, `doctor`, plugin, diagrams, completion."""
