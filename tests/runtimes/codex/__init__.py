"""Tests of the runtime `codex`."""
