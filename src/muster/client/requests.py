"""Every request that a server answers, one function each.

`client.ask(requests.disable("pm"))` sends one; the most common ones are methods of the clients too.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final, Generic, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.vocabulary import AttachedFile, Role, Usage
from muster.views.answers import Recorded
from muster.views.answers.agents import (
    AgentList,
    AgentView,
    ApprovalList,
    Called,
    CallerView,
    Imported,
    NewToken,
    OutputPage,
    PastConversations,
    PresenceView,
    RegisteredAgent,
    RunView,
    ScopeView,
    Settled,
    TokenList,
)
from muster.views.answers.channels import ChannelList, ChannelState, TurnOverridden
from muster.views.answers.messages import (
    EventPage,
    MessagePage,
    Next,
    NoteList,
    SearchPage,
    SoulHistory,
    ThreadPage,
    TurnEnded,
    WakePreview,
)

T = TypeVar("T")


class ApiRequest(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A request and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, object] = {}
    body: object = None
    raw: bytes = b""
    """A body that is no JSON."""

    key: str | None = None
    """The idempotency key: however often the request is sent, it counts once. A client gives every
    request that changes something a key, so that a retry after a broken connection is safe.
    """

    waits_s: float = 0.0
    """How long the server may hold the answer back."""

    once: bool = False
    """Whether a connection that breaks before the answer is an error: the answer hands something
    over that the same request would not hand over again.
    """

    @property
    def target(self) -> str:
        """The path with its query."""
        given = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(given)}" if given else self.path

    @property
    def content(self) -> bytes:
        """The body: JSON, or bytes as they are."""
        return self.raw if self.body is None else json_bytes(self.body)


def api_path(*segments: str) -> str:
    """A path under the API; each name stays one segment, whatever is in it."""
    return "/api/" + "/".join(quote(segment, safe="") for segment in segments)


def new_key() -> str:
    """A random idempotency key."""
    return os.urandom(16).hex()


def given(**fields: object) -> dict[str, object]:
    """The fields that have a value; the server has defaults for the others."""
    return {name: value for name, value in fields.items() if value is not None}


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def agents(*, retired: bool = False) -> ApiRequest[AgentList]:
    """Every agent of the team; with `retired`, also those that were retired."""
    query = {"retired": "true"} if retired else {}
    return ApiRequest(method="GET", path=api_path("agents"), answer=AgentList, query=query)


def agent(name: str) -> ApiRequest[AgentView]:
    """An agent's state."""
    return ApiRequest(method="GET", path=api_path("agents", name), answer=AgentView)


def register(
    name: str, color: str | None = None, max_turns: int | None = None
) -> ApiRequest[RegisteredAgent]:
    """Give an agent a seat, and a token to act with."""
    body = given(name=name, color=color, maxTurns=max_turns)
    return ApiRequest(method="POST", path=api_path("agents"), answer=RegisteredAgent, body=body)


def connect(name: str) -> ApiRequest[PresenceView]:
    """Connect an agent."""
    return ApiRequest(method="POST", path=api_path("agents", name, "connect"), answer=PresenceView)


def heartbeat(
    name: str, *, working: bool = False, current: str | None = None
) -> ApiRequest[PresenceView]:
    """Send a heartbeat: whether the agent works on its turns, and what it is doing."""
    path = api_path("agents", name, "heartbeat")
    body = given(working=working, current=current)
    return ApiRequest(method="POST", path=path, answer=PresenceView, body=body)


def disconnect(name: str, reason: str | None = None) -> ApiRequest[PresenceView]:
    """Disconnect an agent."""
    path = api_path("agents", name, "disconnect")
    return ApiRequest(method="POST", path=path, answer=PresenceView, body=given(reason=reason))


def next_step(
    name: str,
    wait_s: float,
    known: Mapping[str, int] | None = None,
    *,
    paused: Mapping[str, int] | None = None,
    messages: bool = True,
    channel: str | None = None,
    outside: bool = True,
    places: bool = False,
) -> ApiRequest[Next]:
    """The next thing for an agent to do: a long-poll of up to `wait_s` seconds.

    `known` are the turns that the agent is working on, by channel with their epochs, and `paused`
    those of its turns that it knows to be paused. Without `messages` none are handed over, with
    `channel` only those of that channel and direct ones, without `outside` none of a channel in
    which the agent does not have the turn. With `places` it joins again where it lost its place.
    """
    query = {"wait": wait_s, "known": _epochs(known), "paused": _epochs(paused), "channel": channel}
    query["messages"] = None if messages else "false"
    query["outside"] = None if outside else "false"
    query["places"] = "true" if places else None
    path = api_path("agents", name, "next")
    # without a known turn, what an answer handed over is handed over again
    once = messages and bool(known or paused)
    return ApiRequest(method="POST", path=path, answer=Next, query=query, waits_s=wait_s, once=once)


def _epochs(turns: Mapping[str, int] | None) -> str | None:
    return ",".join(f"{channel}:{epoch}" for channel, epoch in (turns or {}).items()) or None


def disable(name: str, reason: str | None = None) -> ApiRequest[AgentView]:
    """Disable an agent until it is enabled again."""
    path = api_path("agents", name, "disable")
    return ApiRequest(method="POST", path=path, answer=AgentView, body=given(reason=reason))


def retire(name: str) -> ApiRequest[AgentView]:
    """Retire an agent that connects by itself, or a summoned one."""
    return ApiRequest(method="DELETE", path=api_path("agents", name), answer=AgentView)


def restore(name: str) -> ApiRequest[AgentView]:
    """Bring a retired agent back to its seat."""
    return ApiRequest(method="POST", path=api_path("agents", name, "restore"), answer=AgentView)


def report_usage(name: str, usage: Usage, channel: str | None = None) -> ApiRequest[Recorded]:
    """Report what an agent that connects by itself has used, for a turn in a channel or not."""
    body = {**msgspec.to_builtins(usage), **given(channel=channel)}
    path = api_path("agents", name, "usage")
    return ApiRequest(method="POST", path=path, answer=Recorded, body=body)


def enable(name: str) -> ApiRequest[AgentView]:
    """Enable an agent that was disabled."""
    return ApiRequest(method="POST", path=api_path("agents", name, "enable"), answer=AgentView)


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


ASKING_SECONDS: Final = 30.0
"""How long a server may take to ask the lead which agents are there before it wakes them."""


def summon(seats: Sequence[int] = ()) -> ApiRequest[Called]:
    """Prepare the seats around the lead, or these ones, in which agents are born."""
    body = given(seats=list(seats) or None)
    return ApiRequest(method="POST", path=api_path("agents", "summon"), answer=Called, body=body)


def wake(names: Sequence[str] = (), *, spares_stopped: bool = False) -> ApiRequest[Called]:
    """Wake these agents, or all that sleep, with or without those that were stopped."""
    path = api_path("agents", "wake")
    body = given(agents=list(names) or None, sparesStopped=spares_stopped or None)
    return ApiRequest(method="POST", path=path, answer=Called, body=body, waits_s=ASKING_SECONDS)


def sleep(names: Sequence[str] = ()) -> ApiRequest[Called]:
    """Put these agents to sleep, or all that are awake."""
    body = given(agents=list(names) or None)
    return ApiRequest(method="POST", path=api_path("agents", "sleep"), answer=Called, body=body)


def notes(name: str) -> ApiRequest[NoteList]:
    """The notes of an agent."""
    return ApiRequest(method="GET", path=api_path("agents", name, "notes"), answer=NoteList)


def add_note(name: str, text: str) -> ApiRequest[Recorded]:
    """Note something for an agent's later lives."""
    path, body = api_path("agents", name, "notes"), given(text=text)
    return ApiRequest(method="POST", path=path, answer=Recorded, body=body)


def edit_note(name: str, note: int, text: str) -> ApiRequest[Recorded]:
    """Replace the text of a note."""
    path, body = api_path("agents", name, "notes", str(note)), given(text=text)
    return ApiRequest(method="PUT", path=path, answer=Recorded, body=body)


def forget_note(name: str, note: int) -> ApiRequest[Recorded]:
    """Delete a note."""
    path = api_path("agents", name, "notes", str(note))
    return ApiRequest(method="DELETE", path=path, answer=Recorded)


def edit_soul(name: str, soul: str, reason: str = "") -> ApiRequest[Recorded]:
    """Replace the soul of an agent; earlier versions are kept."""
    path, body = api_path("agents", name, "soul"), given(soul=soul, reason=reason)
    return ApiRequest(method="PUT", path=path, answer=Recorded, body=body)


def choose_soul(name: str, version: int, reason: str = "") -> ApiRequest[Recorded]:
    """Make a version of an agent's soul the current one."""
    path, body = api_path("agents", name, "soul", "choose"), given(version=version, reason=reason)
    return ApiRequest(method="POST", path=path, answer=Recorded, body=body)


def souls(name: str) -> ApiRequest[SoulHistory]:
    """Every version of an agent's soul."""
    return ApiRequest(method="GET", path=api_path("agents", name, "soul"), answer=SoulHistory)


def wake_payload(name: str) -> ApiRequest[WakePreview]:
    """The memory that an agent would be given if it woke now."""
    return ApiRequest(
        method="GET", path=api_path("agents", name, "wake-payload"), answer=WakePreview
    )


def thread(
    name: str, *, after: int | None = None, limit: int | None = None
) -> ApiRequest[ThreadPage]:
    """Messages by an agent and to it alone: after a place in the log, or the newest."""
    query = {"after": after, "limit": limit}
    path = api_path("agents", name, "messages")
    return ApiRequest(method="GET", path=path, answer=ThreadPage, query=query)


def tell(name: str, message: str) -> ApiRequest[Recorded]:
    """Send a message to the human, as an agent."""
    path = api_path("agents", name, "messages")
    return ApiRequest(
        method="POST", path=path, answer=Recorded, body={"message": message}, key=new_key()
    )


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────


def me() -> ApiRequest[CallerView]:
    """The identity that the token of the client stands for."""
    return ApiRequest(method="GET", path=api_path("me"), answer=CallerView)


def issue_token(
    role: Role,
    agent: str | None = None,
    note: str = "",
    *,
    user: str | None = None,
    days: float | None = None,
    scope: ScopeView | None = None,
) -> ApiRequest[NewToken]:
    """Issue a token; its secret is in the answer, this once."""
    body = given(role=role, agent=agent, note=note, user=user, days=days, scope=scope)
    return ApiRequest(method="POST", path=api_path("tokens"), answer=NewToken, body=body)


def tokens() -> ApiRequest[TokenList]:
    """Every valid token, without secrets."""
    return ApiRequest(method="GET", path=api_path("tokens"), answer=TokenList)


def revoke_token(token_id: str) -> ApiRequest[Recorded]:
    """Revoke a token."""
    return ApiRequest(method="DELETE", path=api_path("tokens", token_id), answer=Recorded)


# ── from another machine ──────────────────────────────────────────────────────────────────────────


def import_team(
    documents: Sequence[AgentDocument], messages: Sequence[MessageCopy] = ()
) -> ApiRequest[Imported]:
    """Merge the team of another machine into this one."""
    body: dict[str, object] = {"documents": list(documents), "messages": list(messages)}
    return ApiRequest(method="POST", path=api_path("import"), answer=Imported, body=body)


# ── run control ───────────────────────────────────────────────────────────────────────────────────


def run(
    name: str,
    desired: str,
    *,
    now: bool = False,
    note: str | None = None,
    if_generation: int | None = None,
) -> ApiRequest[RunView]:
    """Set the desired state: `continuous`, `pause`, `run_once` or `run_cleanup`."""
    body = given(desired=desired, now=now or None, note=note, ifGeneration=if_generation)
    return ApiRequest(method="PUT", path=api_path("agents", name, "run"), answer=RunView, body=body)


def past_conversations(name: str) -> ApiRequest[PastConversations]:
    """The conversations of an agent with its program."""
    path = api_path("agents", name, "past-conversations")
    return ApiRequest(method="GET", path=path, answer=PastConversations)


def resume(name: str, conversation: str) -> ApiRequest[RunView]:
    """Start the next session of an agent from one of its conversations."""
    path = api_path("agents", name, "past-conversations", conversation, "resume")
    return ApiRequest(method="POST", path=path, answer=RunView)


def restart(name: str, *, now: bool = False, note: str | None = None) -> ApiRequest[RunView]:
    """End the session of an agent, and start another."""
    body = given(now=now or None, note=note)
    path = api_path("agents", name, "restart")
    return ApiRequest(method="POST", path=path, answer=RunView, body=body)


def interrupt(name: str) -> ApiRequest[RunView]:
    """Stop the present work of an agent; its session lives on."""
    path = api_path("agents", name, "interrupt")
    return ApiRequest(method="POST", path=path, answer=RunView)


def retry(name: str) -> ApiRequest[RunView]:
    """Hand an agent the messages again that it left unanswered."""
    path = api_path("agents", name, "retry")
    return ApiRequest(method="POST", path=path, answer=RunView)


def run_state(name: str) -> ApiRequest[RunView]:
    """The desired and the current run state of an agent."""
    return ApiRequest(method="GET", path=api_path("agents", name, "run"), answer=RunView)


def output(
    name: str, *, after: int | None = None, limit: int | None = None
) -> ApiRequest[OutputPage]:
    """Output of an agent's sessions: after a place in the log (-1: all), or the newest."""
    query = {"after": after, "limit": limit}
    path = api_path("agents", name, "output")
    return ApiRequest(method="GET", path=path, answer=OutputPage, query=query)


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


def approvals() -> ApiRequest[ApprovalList]:
    """Open requests for approval."""
    return ApiRequest(method="GET", path=api_path("approvals"), answer=ApprovalList)


def answer(
    approval: str, *, allow: bool, note: str | None = None, scope: str | None = None
) -> ApiRequest[Settled]:
    """Approve or deny a request. `scope` is `once`, `session` or `always`."""
    body = given(allow=allow, note=note, scope=scope)
    return ApiRequest(
        method="POST", path=api_path("approvals", approval), answer=Settled, body=body
    )


# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def channels(*, archived: bool = False) -> ApiRequest[ChannelList]:
    """Every channel; archived ones only if asked for."""
    path, query = api_path("channels"), {"archived": "true" if archived else None}
    return ApiRequest(method="GET", path=path, answer=ChannelList, query=query)


def channel(name: str) -> ApiRequest[ChannelState]:
    """A channel: its ring, holder, epoch, deadline and members."""
    return ApiRequest(method="GET", path=api_path("channels", name), answer=ChannelState)


def create_channel(
    name: str, config: Mapping[str, object] | None = None, members: Sequence[str] = ()
) -> ApiRequest[ChannelState]:
    """Create a channel with its members, in the order of their turns; all or nothing."""
    body = {"channel": name, "config": dict(config or {}), "members": list(members)}
    return ApiRequest(method="POST", path=api_path("channels"), answer=ChannelState, body=body)


def configure_channel(name: str, config: Mapping[str, object]) -> ApiRequest[ChannelState]:
    """Change some rules of a channel, by their names in JSON (`defaultTimeoutSeconds`)."""
    path = api_path("channels", name)
    return ApiRequest(method="PATCH", path=path, answer=ChannelState, body=dict(config))


def add_member(
    channel: str, agent: str, timeout_seconds: float | None = None
) -> ApiRequest[ChannelState]:
    """Give an agent a place at the end of a channel's ring."""
    path = api_path("channels", channel, "members")
    body = given(agent=agent, timeoutSeconds=timeout_seconds)
    return ApiRequest(method="POST", path=path, answer=ChannelState, body=body)


def remove_member(channel: str, agent: str) -> ApiRequest[ChannelState]:
    """Take an agent's place in a channel away."""
    path = api_path("channels", channel, "members", agent)
    return ApiRequest(method="DELETE", path=path, answer=ChannelState)


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def _turn(
    channel: str, act: str, answer: type[T], said: dict[str, object], wait_s: float | None = None
) -> ApiRequest[T]:
    return ApiRequest(
        method="POST",
        path=api_path("channels", channel, "turn", act),
        answer=answer,
        query={"wait": wait_s},
        body=said,
        key=new_key(),
        waits_s=wait_s or 0.0,
    )


def complete(
    channel: str,
    message: str | None = None,
    *,
    agent: str | None = None,
    epoch: int | None = None,
    to: str | None = None,
    wait_s: float | None = None,
) -> ApiRequest[TurnEnded]:
    """End a turn, with a last message or without; `to` is the member that is handed it.

    With `wait_s` the answer has the agent's next work in it, after that many seconds at most.
    """
    said = given(agent=agent, epoch=epoch, message=message, to=to)
    return _turn(channel, "complete", TurnEnded, said, wait_s)


def pass_turn(
    channel: str,
    reason: str | None = None,
    *,
    agent: str | None = None,
    epoch: int | None = None,
    to: str | None = None,
    wait_s: float | None = None,
) -> ApiRequest[TurnEnded]:
    """End a turn without a message; `to` and `wait_s` as for `complete`."""
    said = given(agent=agent, epoch=epoch, reason=reason, to=to)
    return _turn(channel, "pass", TurnEnded, said, wait_s)


def wait_turn(
    channel: str,
    reason: str | None = None,
    *,
    agent: str | None = None,
    epoch: int | None = None,
    timeout_seconds: float | None = None,
    awaits: str | None = None,
) -> ApiRequest[Recorded]:
    """Pause a turn and keep it until a person writes (`awaits` "person"), or until a resume."""
    pause = given(reason=reason, timeoutSeconds=timeout_seconds, awaits=awaits)
    return _turn(channel, "wait", Recorded, given(agent=agent, epoch=epoch) | pause)


def resume_turn(
    channel: str, *, agent: str | None = None, epoch: int | None = None
) -> ApiRequest[Recorded]:
    """Go on with a turn that was paused."""
    return _turn(channel, "resume", Recorded, given(agent=agent, epoch=epoch))


def override_turn(channel: str, to: str, *, agent: str | None = None) -> ApiRequest[TurnOverridden]:
    """Give the turn to an agent (ACTIVE), now or as the next, or take it away (QUEUED)."""
    return _turn(channel, "override", TurnOverridden, given(agent=agent, to=to))


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def post(
    channel: str,
    message: str,
    *,
    agent: str | None = None,
    epoch: int | None = None,
    reply_to: int | None = None,
    files: Sequence[str] = (),
) -> ApiRequest[Recorded]:
    """Post a message in a channel: as an agent in its turn, or as a human at any time.

    `reply_to` is the seq of the message that it answers, `files` are digests of uploaded files.
    """
    path = api_path("channels", channel, "messages")
    body = given(
        message=message, agent=agent, epoch=epoch, replyTo=reply_to, files=list(files) or None
    )
    return ApiRequest(method="POST", path=path, answer=Recorded, body=body, key=new_key())


def messages(
    channel: str,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int | None = None,
    newest_first: bool = False,
) -> ApiRequest[MessagePage]:
    """Messages of a channel, with their delivery to each member."""
    path = api_path("channels", channel, "messages")
    order = "desc" if newest_first else None
    query = {"after": after, "before": before, "limit": limit, "order": order}
    return ApiRequest(method="GET", path=path, answer=MessagePage, query=query)


def search(
    words: str,
    *,
    channel: str | None = None,
    agent: str | None = None,
    before: int | None = None,
    limit: int | None = None,
) -> ApiRequest[SearchPage]:
    """Messages that have all of these words, newest first."""
    query = {"q": words, "channel": channel, "agent": agent, "before": before, "limit": limit}
    return ApiRequest(method="GET", path=api_path("search"), answer=SearchPage, query=query)


def upload_file(name: str, content: bytes) -> ApiRequest[AttachedFile]:
    """Upload a file, for a message to name by its digest."""
    return ApiRequest(
        method="POST",
        path=api_path("files"),
        answer=AttachedFile,
        query={"name": name},
        raw=content,
    )


def send(
    message: str,
    *,
    to: str | None = None,
    channel: str | None = None,
    mode: str | None = None,
    reply_to: int | None = None,
    files: Sequence[str] = (),
) -> ApiRequest[Recorded]:
    """Send a message to an agent, to a channel, or to the lead.

    `mode` is the effect on a turn in progress in the channel, in place of the channel's rule.
    """
    body = given(
        message=message,
        targetAgent=to,
        channel=channel,
        mode=mode,
        replyTo=reply_to,
        files=list(files) or None,
    )
    return ApiRequest(
        method="POST", path=api_path("send"), answer=Recorded, body=body, key=new_key()
    )


def log(
    *,
    after: int | None = None,
    limit: int | None = None,
    types: Sequence[str] = (),
    agent: str | None = None,
    channel: str | None = None,
) -> ApiRequest[EventPage]:
    """A page of the log: after a place in it, or the newest."""
    query = {"after": after, "limit": limit, "types": ",".join(types) or None}
    query |= {"agent": agent, "channel": channel}
    return ApiRequest(method="GET", path=api_path("log"), answer=EventPage, query=query)


def events(
    *,
    after: int | None = None,
    types: Sequence[str] = (),
    agent: str | None = None,
    channel: str | None = None,
) -> ApiRequest[None]:
    """The stream of events."""
    query = {"after": after, "types": ",".join(types) or None, "agent": agent, "channel": channel}
    return ApiRequest(method="GET", path=api_path("events"), answer=type(None), query=query)


# ── members, order and archive of channels ────────────────────────────────────────────────────────


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


def partial(
    channel: str, text: str, *, agent: str | None = None, epoch: int | None = None
) -> ApiRequest[None]:
    """Show the beginning of a text that is still being written. It is no event in the log."""
    path = api_path("channels", channel, "turn", "partial")
    body = given(text=text, agent=agent, epoch=epoch)
    return ApiRequest(method="POST", path=path, answer=type(None), body=body)


def export(channel: str, form: str = "markdown") -> ApiRequest[bytes]:
    """All messages of a channel, as `markdown` or `json`."""
    path = api_path("channels", channel, "export")
    return ApiRequest(method="GET", path=path, answer=bytes, query={"format": form})


# ── bodies ────────────────────────────────────────────────────────────────────────────────────────


def json_bytes(body: object) -> bytes:
    """A body as JSON; lone surrogates in its texts become U+FFFD.

    A program gets such text from a model's output that was cut, or from bytes that it read with
    `surrogateescape`.
    """
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_repaired(msgspec.to_builtins(body)))


def _repaired(value: object) -> object:
    if isinstance(value, str):
        # Two surrogates that belong together are one character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_repaired(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {name: _repaired(each) for name, each in fields.items()}
    return value
