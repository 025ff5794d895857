"""What can be asked of a server about delegation, one function each, as in `asks.py`."""

from collections.abc import Sequence

from muster.client.request import Ask, a_path
from muster.limits import TURN_SECONDS_MAX
from muster.views.conversations import ConversationList, ConversationView, DelegationView


def _given(**fields: object) -> dict[str, object]:
    """What was said; the rest has its default on the other side."""
    return {name: value for name, value in fields.items() if value is not None}


def delegation() -> Ask[DelegationView]:
    """Which state machine session is open."""
    return Ask(method="GET", path=a_path("delegation"), answer=DelegationView)


def start_delegation(
    *, mode: str | None = None, path: str | None = None, agents: Sequence[str] = ()
) -> Ask[DelegationView]:
    """Open a state machine session in a folder of the project, or go on with it."""
    body = _given(mode=mode, path=path, agents=agents)
    return Ask(method="POST", path=a_path("delegation"), answer=DelegationView, body=body)


def end_delegation() -> Ask[DelegationView]:
    """Close the state machine session."""
    return Ask(method="DELETE", path=a_path("delegation"), answer=DelegationView)


def converse(text: str, *, to: str | None = None, wait: bool = True) -> Ask[ConversationView]:
    """Hand a request to the agent whose description matches, and wait for what comes of it."""
    return Ask(
        method="POST",
        path=a_path("conversations"),
        answer=ConversationView,
        body=_given(text=text, to=to, wait=wait),
        waits_s=TURN_SECONDS_MAX,
    )


def conversations(limit: int | None = None) -> Ask[ConversationList]:
    """Conversations with their traces and files."""
    path = a_path("conversations")
    return Ask(method="GET", path=path, answer=ConversationList, query={"limit": limit})
