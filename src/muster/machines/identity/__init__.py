"""The identity machine: who an agent is, and whether it is here."""
