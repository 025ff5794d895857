"""Tests of the runtime `python`."""
