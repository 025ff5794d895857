"""Requests about delegation, one function each, as in `requests.py`."""

from collections.abc import Sequence

from muster.client.requests import ApiRequest, api_path, given
from muster.limits import TURN_SECONDS_MAX
from muster.views.answers.conversations import (
    CarriedOut,
    ChoiceList,
    ConversationList,
    ConversationView,
    DelegationView,
)


def delegation() -> ApiRequest[DelegationView]:
    """Show the state machine session that is open."""
    return ApiRequest(method="GET", path=api_path("delegation"), answer=DelegationView)


def start_delegation(
    *, mode: str | None = None, path: str | None = None, agents: Sequence[str] = ()
) -> ApiRequest[DelegationView]:
    """Open a state machine session in a folder of the project, or resume it."""
    body = given(mode=mode, path=path, agents=agents)
    return ApiRequest(method="POST", path=api_path("delegation"), answer=DelegationView, body=body)


def end_delegation() -> ApiRequest[DelegationView]:
    """Close the state machine session."""
    return ApiRequest(method="DELETE", path=api_path("delegation"), answer=DelegationView)


def converse(
    text: str,
    *,
    to: str | None = None,
    wait: bool = True,
    depth: int = 0,
    agent: str = "",
    continues: str | None = None,
) -> ApiRequest[ConversationView]:
    """Hand a request to the agent whose description matches, and wait for its result.

    `depth` and `agent` tell that an agent asks: its MUSTER_ASK_DEPTH and its name. `continues` is
    an earlier conversation: its agent gets the request, with what it was asked and answered.
    """
    return ApiRequest(
        method="POST",
        path=api_path("conversations"),
        answer=ConversationView,
        body=given(
            text=text,
            to=to,
            wait=wait,
            depth=depth or None,
            agent=agent or None,
            continues=continues,
        ),
        waits_s=TURN_SECONDS_MAX,
    )


def run_queue(agents: Sequence[str] = (), *, until_empty: bool = False) -> ApiRequest[CarriedOut]:
    """Carry out the messages in the queue, until it is empty or the session ends."""
    return ApiRequest(
        method="POST",
        path=api_path("delegation", "queue"),
        answer=CarriedOut,
        body={"agents": agents, "untilEmpty": until_empty},
        waits_s=TURN_SECONDS_MAX,
    )


def choices() -> ApiRequest[ChoiceList]:
    """The choices of people that routing remembers."""
    return ApiRequest(method="GET", path=api_path("delegation", "choices"), answer=ChoiceList)


def remember_choice(text: str, agent: str) -> ApiRequest[ChoiceList]:
    """Have routing remember the agent for a request, and for requests like it."""
    path, body = api_path("delegation", "choices"), {"text": text, "agent": agent}
    return ApiRequest(method="POST", path=path, answer=ChoiceList, body=body)


def forget_choice(number: int) -> ApiRequest[ChoiceList]:
    """Have routing forget a choice."""
    path = api_path("delegation", "choices", str(number))
    return ApiRequest(method="DELETE", path=path, answer=ChoiceList)


def forget_choices() -> ApiRequest[ChoiceList]:
    """Have routing forget all choices."""
    return ApiRequest(method="DELETE", path=api_path("delegation", "choices"), answer=ChoiceList)


def log_line(entry: str) -> ApiRequest[DelegationView]:
    """Write a line into the index of conversations."""
    path = api_path("delegation", "log")
    return ApiRequest(method="POST", path=path, answer=DelegationView, body={"entry": entry})


def cancel(name: str) -> ApiRequest[ConversationView]:
    """End a request that is no longer wanted, and stop the work on it."""
    path = api_path("conversations", name, "cancel")
    return ApiRequest(method="POST", path=path, answer=ConversationView)


def conversation(name: str) -> ApiRequest[ConversationView]:
    """One conversation with its trace and files."""
    path = api_path("conversations", name)
    return ApiRequest(method="GET", path=path, answer=ConversationView)


def conversations(limit: int | None = None) -> ApiRequest[ConversationList]:
    """Conversations with their traces and files."""
    path = api_path("conversations")
    return ApiRequest(method="GET", path=path, answer=ConversationList, query={"limit": limit})
