"""Tools for a person's own program: it leads the team with an operator's or a member's token."""

from typing import Annotated, Final

import msgspec

from muster.client import delegation, requests
from muster.machines.vocabulary import RunMode
from muster.mcp.calls import McpCall
from muster.mcp.declaring import EVERYBODY, PEOPLE, SPEAKERS, NoInput, ToolInput, tool
from muster.mcp.tools.reading import AgentInput, RunStatus, status_of
from muster.views.answers import View
from muster.views.answers.agents import ApprovalList, Settled
from muster.views.answers.conversations import ConversationView

Note = Annotated[str | None, msgspec.Meta(description="Why, for the log and for the agent.")]


class RunInput(AgentInput, frozen=True, kw_only=True):
    """An agent, and why its run mode is set."""

    note: Note = None


class StopInput(RunInput, frozen=True, kw_only=True):
    """An agent, and how soon it is stopped."""

    now: Annotated[
        bool, msgspec.Meta(description="Interrupt its session, instead of letting it finish.")
    ] = False


async def _run(call: McpCall, given: RunInput, desired: RunMode, *, now: bool = False) -> RunStatus:
    await call.ask(requests.run(given.agent, desired, now=now, note=given.note))
    return await status_of(call, given.agent)


@tool(may=PEOPLE, title="Start an agent", repeatable=True)
async def start(call: McpCall, given: RunInput) -> RunStatus:
    """Start an agent: it runs session after session until it is stopped."""
    return await _run(call, given, RunMode.CONTINUOUS)


@tool(may=PEOPLE, title="Stop an agent", repeatable=True)
async def stop(call: McpCall, given: StopInput) -> RunStatus:
    """Stop an agent after its current session, or with `now` at once."""
    return await _run(call, given, RunMode.PAUSE, now=given.now)


@tool(may=PEOPLE, title="Run one session of an agent")
async def run_once(call: McpCall, given: RunInput) -> RunStatus:
    """Run exactly one session of an agent, then pause it."""
    return await _run(call, given, RunMode.RUN_ONCE)


@tool(may=PEOPLE, title="Run one cleanup session of an agent")
async def run_cleanup(call: McpCall, given: RunInput) -> RunStatus:
    """Run exactly one cleanup session of an agent, then pause it."""
    return await _run(call, given, RunMode.RUN_CLEANUP)


@tool(may=PEOPLE, title="Restart an agent")
async def restart(call: McpCall, given: StopInput) -> RunStatus:
    """End the session of an agent, and start another."""
    await call.ask(requests.restart(given.agent, now=given.now, note=given.note))
    return await status_of(call, given.agent)


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class TurnDecided(View, frozen=True, kw_only=True):
    """The effect of a person's decision about a turn."""

    channel: str
    effect: str


class InterruptInput(ToolInput, frozen=True, kw_only=True):
    """The channel whose turn is interrupted."""

    channel: str
    message: Annotated[
        str | None,
        msgspec.Meta(
            description="What the holder is told; it pauses for you and keeps its turn. Left out, "
            "the turn is taken away and goes to the next member."
        ),
    ] = None


@tool(may=PEOPLE, title="Interrupt the turn in a channel")
async def interrupt(call: McpCall, given: InterruptInput) -> TurnDecided:
    """Interrupt the agent that has the turn in a channel: with a message, or by taking the turn."""
    if given.message is None:
        taken = await call.ask(requests.override_turn(given.channel, "QUEUED"))
        return TurnDecided(channel=given.channel, effect=taken.effect)
    said = await call.ask(requests.send(given.message, channel=given.channel, mode="interrupt"))
    return TurnDecided(channel=given.channel, effect=said.effect)


class GiveInput(ToolInput, frozen=True, kw_only=True):
    """A member of a channel."""

    channel: str
    agent: str


@tool(may=PEOPLE, title="Let an agent speak next")
async def turn_give(call: McpCall, given: GiveInput) -> TurnDecided:
    """Let a member of a channel speak next: at once if the turn is free, else after the holder."""
    taken = await call.ask(requests.override_turn(given.channel, "ACTIVE", agent=given.agent))
    return TurnDecided(channel=given.channel, effect=taken.effect)


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


@tool(may=EVERYBODY, title="List requests for approval", reads=True)
async def approvals(call: McpCall, given: NoInput) -> ApprovalList:
    """List what agents want to do and wait for a person to allow."""
    return await call.ask(requests.approvals())


class AnswerInput(ToolInput, frozen=True, kw_only=True):
    """A person's answer to a request for approval."""

    approval: Annotated[str, msgspec.Meta(description="The id of the request.")]
    allow: bool
    note: Note = None


@tool(may=PEOPLE, title="Answer a request for approval")
async def approval_answer(call: McpCall, given: AnswerInput) -> Settled:
    """Allow or deny what an agent wants to do. Ask the person whom you work for first."""
    return await call.ask(requests.answer(given.approval, allow=given.allow, note=given.note))


# ── delegation ────────────────────────────────────────────────────────────────────────────────────

ANSWER_CHARS_MAX: Final = 20_000
"""How much of an answer a tool shows: a model has to read it. The conversation has all."""


class AskInput(ToolInput, frozen=True, kw_only=True):
    """A request for an agent."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    to: Annotated[
        str | None,
        msgspec.Meta(description="The agent; left out, the one whose description matches."),
    ] = None


class ConversationInput(ToolInput, frozen=True, kw_only=True):
    """A conversation."""

    conversation: str


class Asked(View, frozen=True, kw_only=True):
    """A request that was delegated."""

    conversation: str
    state: str
    """The agent that works on it."""

    outcome: str | None
    """`answered`, `failed` or `ended`; null while it goes on."""

    answer: str
    """What the agent answered, its beginning."""

    note: str
    """Why it does not go on, where that is so."""


@tool(may=SPEAKERS, title="Delegate a request")
async def ask(call: McpCall, given: AskInput) -> Asked:
    """Delegate a request to the agent whose description matches, and return at once.

    It needs an open state machine session. Call ask_result until `outcome` is set.
    """
    return _asked(await call.ask(delegation.converse(given.text, to=given.to, wait=False)))


@tool(may=EVERYBODY, title="Show a delegated request", reads=True)
async def ask_result(call: McpCall, given: ConversationInput) -> Asked:
    """Show how far a delegated request is, and its answer when there is one."""
    return _asked(await call.ask(delegation.conversation(given.conversation)))


def _asked(found: ConversationView) -> Asked:
    return Asked(
        conversation=found.conversation,
        state=found.state,
        outcome=found.outcome,
        answer=found.answer[:ANSWER_CHARS_MAX],
        note=found.denied or found.waits_because,
    )
