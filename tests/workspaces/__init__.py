"""Tests of git worktrees: real git, in temporary repositories."""
