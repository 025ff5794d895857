"""Tests of what needs a person."""
