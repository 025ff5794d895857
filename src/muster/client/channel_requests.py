"""Requests about a channel: members, order, archive, export; one function each.

`client.ask(channel_requests.order_ring("design", ["dev", "pm"]))` sends one, as with `requests.py`.
"""

from collections.abc import Sequence

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers.channels import ChannelState

# ── members and order ─────────────────────────────────────────────────────────────────────────────


def order_ring(channel: str, agents: Sequence[str]) -> ApiRequest[ChannelState]:
    """Change the order of turns; `agents` has every member once."""
    path, body = api_path("channels", channel, "ring"), {"agents": list(agents)}
    return ApiRequest(method="PUT", path=path, answer=ChannelState, body=body)


def configure_member(
    channel: str, agent: str, timeout_seconds: float | None
) -> ApiRequest[ChannelState]:
    """Change a member's turn timeout; none means the timeout of the channel."""
    path = api_path("channels", channel, "members", agent)
    body = {"timeoutSeconds": timeout_seconds}
    return ApiRequest(method="PATCH", path=path, answer=ChannelState, body=body)


def raise_hand(channel: str, agent: str, *, raised: bool = True) -> ApiRequest[ChannelState]:
    """Raise a member's hand to speak before the ring's next, or lower it."""
    path = api_path("channels", channel, "members", agent, "hand")
    return ApiRequest(method="POST", path=path, answer=ChannelState, body={"raised": raised})


def archive_channel(channel: str) -> ApiRequest[ChannelState]:
    """Archive a channel: its turn ends, and nothing more is said in it."""
    path = api_path("channels", channel, "archive")
    return ApiRequest(method="POST", path=path, answer=ChannelState)


def restore_channel(channel: str) -> ApiRequest[ChannelState]:
    """Bring an archived channel back."""
    path = api_path("channels", channel, "restore")
    return ApiRequest(method="POST", path=path, answer=ChannelState)


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def partial(
    channel: str, text: str, *, agent: str | None = None, epoch: int | None = None
) -> ApiRequest[None]:
    """Show the beginning of a text that is still being written. It is no event in the log."""
    path = api_path("channels", channel, "turn", "partial")
    body = given(text=text, agent=agent, epoch=epoch)
    return ApiRequest(method="POST", path=path, answer=type(None), body=body)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def export(channel: str, form: str = "markdown") -> ApiRequest[bytes]:
    """All messages of a channel, as `markdown` or `json`."""
    path = api_path("channels", channel, "export")
    return ApiRequest(method="GET", path=path, answer=bytes, query={"format": form})
