"""Tests of the runtime `acp`."""
