"""Tests of the real Claude Code, which asks a scripted model."""
