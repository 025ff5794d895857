"""Workspaces: git worktrees of agents and tasks, what they change, and what becomes of that.

`git.py` runs git, `repository.py` finds the repository, `worktrees.py` makes and removes worktrees,
`merging.py` merges and rebases, `changes.py` and `diffs.py` read what is changed, and `turns.py`
what each turn changed. All of these block, and run in threads; `service.py` knows the team.
"""
