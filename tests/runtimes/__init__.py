"""Tests of the runtimes, with real programs."""
