"""The turn machine: channels, their ring, the turn, and messages."""
