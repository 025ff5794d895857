"""Describes failures of the model server."""

from typing import Final

REFUSED: Final = frozenset({401, 403})
"""Statuses that no retry helps against. An expired login is renewed after the first."""

BUSY: Final = frozenset({429, 529})
"""Statuses of a server that takes no more for now, and may say for how long."""

REFUSALS_MAX: Final = 1
"""How many retries such a status gets all the same."""

TOLD_SECONDS: Final = 60.0
"""From how long on a pause that the server asks for is worth a word."""

TEXT_CHARS_MAX: Final = 200

_OWN_FAULT: Final = frozenset({400, 413, 422})
"""The request itself was wrong: too long, say. The next one may be right."""

_STATUS: Final = {
    401: "refuses the key (401)",
    403: "refuses the key (403)",
    404: "does not know the model (404)",
    408: "gave up waiting (408)",
    429: "takes no more for now (429)",
    529: "is overloaded (529)",
}

_SIGNS: Final = (
    ("connection refused", "cannot be reached: connection refused"),
    ("econnrefused", "cannot be reached: connection refused"),
    ("enotfound", "cannot be reached: there is no such host"),
    ("unable to connect", "cannot be reached"),
    ("econnreset", "broke off its answer"),
    ("connection error", "cannot be reached"),
    ("stopped arriving", "fell silent in the middle of its answer"),
    ("timed out", "does not answer: timed out"),
)
"""Texts of the program where there was no status, in lower case."""


def refusal(status: int | None, attempts: int) -> str:
    """Why there is no use in asking on, if there is none."""
    if status in REFUSED and attempts > REFUSALS_MAX:
        return f"the model server {_STATUS[status]}"
    return ""


def refused(text: str) -> str:
    """The answer of a model that does not want to answer."""
    return f"The model refused to answer. {text.removeprefix('API Error: ')}".strip()


def fault(status: int | None, text: str, attempts: int, after_s: float = 0.0) -> str:
    """Why the model server makes work impossible; nothing where it does not.

    `after_s` is the pause that it asks for.
    """
    lower = text.lower()
    if "not logged in" in lower or "/login" in lower:
        return "Claude Code is not logged in: set ANTHROPIC_API_KEY in its env, or run `claude`"
    if status in _OWN_FAULT:
        return ""
    often = f", asked {attempts} times" if attempts > 1 and status not in REFUSED else ""
    pause = f", and asks to wait {after_s:.0f} s" if after_s >= TOLD_SECONDS else ""
    if status is not None:
        return f"the model server {_STATUS.get(status, f'fails ({status})')}{often}{pause}"
    for sign, words in _SIGNS:
        if sign in lower:
            return f"the model server {words}{often}"
    return f"the model server does not work: {text[:TEXT_CHARS_MAX]}{often}"
