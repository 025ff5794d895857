"""Tests of the machine of workspaces."""
