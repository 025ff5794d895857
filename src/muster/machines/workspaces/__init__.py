"""Workspaces: git worktrees of agents and conversations, from the plan to the removal."""
