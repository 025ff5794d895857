"""The reasons of refusals, for programs whose protocol refuses without one."""

from collections.abc import Sequence


def told_why(refused: Sequence[str]) -> str:
    """A prompt with what was not allowed and why; empty if there is nothing to tell."""
    if not refused:
        return ""
    lines = "\n".join(f"- {each}" for each in refused)
    return f"muster did not allow this:\n{lines}\nGo on without it, and finish your work."
