"""Everything that can be asked of a server, one function each.

Both clients carry them out (`client.ask(asks.disable("pm"))`); what programs ask most often is a
method of theirs as well.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from muster.client.request import Ask, a_key, a_path
from muster.machines.ids import ChannelId
from muster.machines.teams.papers import AgentDocument, MessageCopy
from muster.views.agents import AgentList, AgentView, Called, OutputPage, RunView
from muster.views.approvals import ApprovalList, Settled
from muster.views.channels import ChannelList, ChannelState, MessagePage
from muster.views.costs import CostsView
from muster.views.messages import ThreadPage, WakePreview
from muster.views.paper import Imported

# ── what is answered ──────────────────────────────────────────────────────────────────────────────


class Token(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A token that was given just now. Nobody will tell the secret again."""

    id: str
    secret: str


class Registered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who joined, and the token to act with."""

    agent: AgentView
    token: Token


class Presence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as muster knows it now, and how often it wants to be heard of."""

    agent: AgentView
    heartbeat_seconds: float
    turns: dict[ChannelId, int]


class Said(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the log stood when it was done: for a message, where that stands."""

    seq: int
    repeated: bool = False
    """Whether it was said before under the same key, and was not said again."""


class LogPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the log in order; `after` asks for what comes next."""

    events: tuple[msgspec.Raw, ...]
    after: int
    more: bool


def _given(**fields: object) -> dict[str, object]:
    """What was said; the rest has its default on the other side."""
    return {name: value for name, value in fields.items() if value is not None}


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def agents() -> Ask[AgentList]:
    """Who is in the team."""
    return Ask(method="GET", path=a_path("agents"), answer=AgentList)


def agent(name: str) -> Ask[AgentView]:
    """How an agent is."""
    return Ask(method="GET", path=a_path("agents", name), answer=AgentView)


def register(name: str, color: str | None = None, max_turns: int | None = None) -> Ask[Registered]:
    """Give somebody a seat, and a token to act with."""
    body = _given(name=name, color=color, maxTurns=max_turns)
    return Ask(method="POST", path=a_path("agents"), answer=Registered, body=body)


def connect(name: str) -> Ask[Presence]:
    """Say that an agent is here."""
    return Ask(method="POST", path=a_path("agents", name, "connect"), answer=Presence)


def heartbeat(name: str, *, working: bool = False, current: str | None = None) -> Ask[Presence]:
    """Say that an agent is still here, that it works on its turns, and what it is doing."""
    path = a_path("agents", name, "heartbeat")
    body = _given(working=working, current=current)
    return Ask(method="POST", path=path, answer=Presence, body=body)


def disconnect(name: str, reason: str | None = None) -> Ask[Presence]:
    """Say that an agent leaves."""
    path = a_path("agents", name, "disconnect")
    return Ask(method="POST", path=path, answer=Presence, body=_given(reason=reason))


def disable(name: str, reason: str | None = None) -> Ask[AgentView]:
    """Take an agent out until it is enabled again."""
    path = a_path("agents", name, "disable")
    return Ask(method="POST", path=path, answer=AgentView, body=_given(reason=reason))


def enable(name: str) -> Ask[AgentView]:
    """Let an agent that was disabled come back."""
    return Ask(method="POST", path=a_path("agents", name, "enable"), answer=AgentView)


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


ASKING_SECONDS: Final = 30.0
"""How long a server may take to ask the lead who is there before it wakes anybody."""


def summon() -> Ask[Called]:
    """Prepare eight places around the lead, in which agents are born."""
    return Ask(method="POST", path=a_path("agents", "summon"), answer=Called)


def wake(names: Sequence[str] = ()) -> Ask[Called]:
    """Wake these, or all who sleep."""
    path, body = a_path("agents", "wake"), _given(agents=list(names) or None)
    return Ask(method="POST", path=path, answer=Called, body=body, waits_s=ASKING_SECONDS)


def sleep(names: Sequence[str] = ()) -> Ask[Called]:
    """Put these to sleep, or all who are awake."""
    body = _given(agents=list(names) or None)
    return Ask(method="POST", path=a_path("agents", "sleep"), answer=Called, body=body)


def wake_payload(name: str) -> Ask[WakePreview]:
    """What an agent would be told if it woke now."""
    return Ask(method="GET", path=a_path("agents", name, "wake-payload"), answer=WakePreview)


def thread(name: str, *, after: int | None = None, limit: int | None = None) -> Ask[ThreadPage]:
    """What an agent said, and what was said to it: after a place in the log, or the newest."""
    query = {"after": after, "limit": limit}
    path = a_path("agents", name, "messages")
    return Ask(method="GET", path=path, answer=ThreadPage, query=query)


def tell(name: str, message: str) -> Ask[Said]:
    """Say something to the human, as an agent."""
    path = a_path("agents", name, "messages")
    return Ask(method="POST", path=path, answer=Said, body={"message": message}, key=a_key())


# ── from another machine ──────────────────────────────────────────────────────────────────────────


def import_team(
    documents: Sequence[AgentDocument], messages: Sequence[MessageCopy] = ()
) -> Ask[Imported]:
    """Merge what another machine knows of the team."""
    body: dict[str, object] = {"documents": list(documents), "messages": list(messages)}
    return Ask(method="POST", path=a_path("import"), answer=Imported, body=body)


# ── run control ───────────────────────────────────────────────────────────────────────────────────


def run(
    name: str,
    desired: str,
    *,
    now: bool = False,
    note: str | None = None,
    if_generation: int | None = None,
) -> Ask[RunView]:
    """Want something of an agent: `continuous`, `pause`, `run_once` or `run_cleanup`."""
    body = _given(desired=desired, now=now or None, note=note, ifGeneration=if_generation)
    return Ask(method="PUT", path=a_path("agents", name, "run"), answer=RunView, body=body)


def run_state(name: str) -> Ask[RunView]:
    """What is wanted of an agent, and what it does."""
    return Ask(method="GET", path=a_path("agents", name, "run"), answer=RunView)


def output(name: str, *, after: int | None = None, limit: int | None = None) -> Ask[OutputPage]:
    """What an agent's sessions printed: after a place in the log (-1: all), or the newest."""
    query = {"after": after, "limit": limit}
    path = a_path("agents", name, "output")
    return Ask(method="GET", path=path, answer=OutputPage, query=query)


# ── approvals and costs ───────────────────────────────────────────────────────────────────────────


def approvals() -> Ask[ApprovalList]:
    """What agents want to do and may not unless a person allows it."""
    return Ask(method="GET", path=a_path("approvals"), answer=ApprovalList)


def answer(approval: str, *, allow: bool, note: str | None = None) -> Ask[Settled]:
    """Allow what an agent asks for, or deny it."""
    body = _given(allow=allow, note=note)
    return Ask(method="POST", path=a_path("approvals", approval), answer=Settled, body=body)


def costs() -> Ask[CostsView]:
    """What the team has used up, and who of it."""
    return Ask(method="GET", path=a_path("costs"), answer=CostsView)


# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def channels() -> Ask[ChannelList]:
    """Every channel."""
    return Ask(method="GET", path=a_path("channels"), answer=ChannelList)


def channel(name: str) -> Ask[ChannelState]:
    """A channel: its ring, holder, epoch, deadline and members."""
    return Ask(method="GET", path=a_path("channels", name), answer=ChannelState)


def create_channel(name: str, config: Mapping[str, object] | None = None) -> Ask[ChannelState]:
    """Open a channel. Members join it one by one, in the order of their turns."""
    body = {"channel": name, "config": dict(config or {})}
    return Ask(method="POST", path=a_path("channels"), answer=ChannelState, body=body)


def configure_channel(name: str, config: Mapping[str, object]) -> Ask[ChannelState]:
    """Change some rules of a channel, named as the seed names them (`defaultTimeoutSeconds`)."""
    path = a_path("channels", name)
    return Ask(method="PATCH", path=path, answer=ChannelState, body=dict(config))


def add_member(channel: str, agent: str, timeout_seconds: float | None = None) -> Ask[ChannelState]:
    """Give an agent a place at the end of a channel's ring."""
    path = a_path("channels", channel, "members")
    body = _given(agent=agent, timeoutSeconds=timeout_seconds)
    return Ask(method="POST", path=path, answer=ChannelState, body=body)


def remove_member(channel: str, agent: str) -> Ask[ChannelState]:
    """Take an agent's place in a channel away."""
    path = a_path("channels", channel, "members", agent)
    return Ask(method="DELETE", path=path, answer=ChannelState)


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def _turn(channel: str, act: str, **said: object) -> Ask[Said]:
    path = a_path("channels", channel, "turn", act)
    return Ask(method="POST", path=path, answer=Said, body=_given(**said), key=a_key())


def complete(
    channel: str, message: str | None = None, *, agent: str | None = None, epoch: int | None = None
) -> Ask[Said]:
    """End a turn, with last words or without."""
    return _turn(channel, "complete", agent=agent, epoch=epoch, message=message)


def pass_turn(
    channel: str, reason: str | None = None, *, agent: str | None = None, epoch: int | None = None
) -> Ask[Said]:
    """End a turn without a word."""
    return _turn(channel, "pass", agent=agent, epoch=epoch, reason=reason)


def wait_turn(
    channel: str,
    reason: str | None = None,
    *,
    agent: str | None = None,
    epoch: int | None = None,
    timeout_seconds: float | None = None,
) -> Ask[Said]:
    """Pause a turn and keep it."""
    said = {"agent": agent, "epoch": epoch, "reason": reason, "timeoutSeconds": timeout_seconds}
    return _turn(channel, "wait", **said)


def resume_turn(channel: str, *, agent: str | None = None, epoch: int | None = None) -> Ask[Said]:
    """Go on with a turn that was paused."""
    return _turn(channel, "resume", agent=agent, epoch=epoch)


def override_turn(channel: str, to: str, *, agent: str | None = None) -> Ask[Said]:
    """Give the turn to an agent (ACTIVE), or take it away (QUEUED)."""
    return _turn(channel, "override", agent=agent, to=to)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def post(
    channel: str, message: str, *, agent: str | None = None, epoch: int | None = None
) -> Ask[Said]:
    """Say something in a channel: as an agent in its turn, or as a human at any time."""
    path = a_path("channels", channel, "messages")
    body = _given(message=message, agent=agent, epoch=epoch)
    return Ask(method="POST", path=path, answer=Said, body=body, key=a_key())


def messages(channel: str, *, after: int = 0, limit: int | None = None) -> Ask[MessagePage]:
    """Messages of a channel, with their delivery to each member."""
    path = a_path("channels", channel, "messages")
    query = {"after": after, "limit": limit}
    return Ask(method="GET", path=path, answer=MessagePage, query=query)


def send(message: str, *, to: str | None = None, channel: str | None = None) -> Ask[Said]:
    """Say something to an agent, to a channel, or to the lead."""
    body = _given(message=message, targetAgent=to, channel=channel)
    return Ask(method="POST", path=a_path("send"), answer=Said, body=body, key=a_key())


def log(
    *,
    after: int | None = None,
    limit: int | None = None,
    types: Sequence[str] = (),
    agent: str | None = None,
    channel: str | None = None,
) -> Ask[LogPage]:
    """Some of the log: after a place in it, or the newest."""
    query = {"after": after, "limit": limit, "types": ",".join(types) or None}
    query |= {"agent": agent, "channel": channel}
    return Ask(method="GET", path=a_path("log"), answer=LogPage, query=query)


def events(
    *,
    after: int | None = None,
    types: Sequence[str] = (),
    agent: str | None = None,
    channel: str | None = None,
) -> Ask[None]:
    """The stream of events, which is read as it comes."""
    query = {"after": after, "types": ",".join(types) or None, "agent": agent, "channel": channel}
    return Ask(method="GET", path=a_path("events"), answer=type(None), query=query)
