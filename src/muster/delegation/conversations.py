"""Conversations: each handles one input, from the human's request to the closed conversation.

muster itself is MAIN here: it opens a conversation, routes it, and delegates it to an agent or
answers it. In response mode there is no MAIN: a routed conversation waits in the queue
(`queue.py`). An agent works on a conversation in a session of its seat (`task_runner.py`).
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from muster.delegation import assignments, replies
from muster.delegation.agent_folders import agents_of
from muster.delegation.assignments import BY_PERSON, Nesting
from muster.delegation.earlier import PastSession, earlier_sessions
from muster.delegation.following.owner import IsAlive, assume_alive
from muster.delegation.session_folder import add_new_agents
from muster.delegation.session_log import LogProvider, SessionLog
from muster.delegation.task_runner import Tasks, remark
from muster.engine import ports
from muster.engine.dispatcher import Receipt
from muster.errors import Ambiguous, NoDelegation, NotFound, Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.delegation.decide import clipped, in_order
from muster.machines.ids import MUSTER, ConversationId, WorkspaceId, person
from muster.machines.run_control.gate import task_refusal
from muster.machines.state import (
    MAIN,
    QUEUE,
    Conversation,
    Delegation,
    RememberedChoice,
    Team,
)
from muster.machines.vocabulary import DelegationMode, Ranked, Remark, Status
from muster.routing.agent_files import AgentFile
from muster.routing.choices import PastChoice
from muster.routing.lexical import typed_words
from muster.routing.router import Candidate, Decision, Router
from muster.views.conversations import ConversationView, views_of

CHOSEN: Final = "person"
"""The routing rule of a conversation whose agent was chosen by a person."""

CHOSEN_BY_AGENT: Final = "agent"
"""The routing rule of a conversation whose agent was chosen by the agent that asked."""

UNSURE: Final = "the router is unsure, and it chooses"
"""The reason of a delegation to a selector."""


class OpenedConversation(NamedTuple):
    """A conversation that was opened, and the sequence number of its first event."""

    conversation: ConversationId
    seq: int


class Conversations:
    """Opens, delegates, answers and closes the conversations of one state machine session."""

    def __init__(
        self,
        log_provider: LogProvider,
        clock: ports.Clock,
        *,
        tasks: Tasks | None = None,
        is_alive: IsAlive = assume_alive,
    ) -> None:
        """Without `tasks`, no agent can be run.

        `is_alive` tells whether the program that leads a conversation (its keeper) still runs.
        """
        self.log_provider = log_provider
        self.tasks = tasks
        self._clock = clock
        self._is_alive = is_alive

    async def begin(
        self,
        text: str,
        *,
        speaker: str,
        to: str | None = None,
        key: str | None = None,
        asks: bool = False,
        nesting: Nesting = BY_PERSON,
        workspace: WorkspaceId | None = None,
    ) -> OpenedConversation:
        """Open a conversation, and delegate it to the agent that it is routed to, or to `to`.

        With `workspace`, it goes on in the worktree of a finished one. A retry with the same key
        gets the conversation that the first try opened. With `asks`, an ambiguous request opens
        none and is refused with the agents to choose from. `nesting` tells which agent asks, if it
        is one.
        """
        async with self.log_provider.access() as session_log:
            if key is not None and (
                known := await session_log.opened_by_key(nesting.actor(speaker), key)
            ):
                assert isinstance(known.fact, e.ConversationStart)
                return OpenedConversation(known.fact.conversation, known.seq)
            require_open(session_log)
            root = self.log_provider.folder(session_log.team).root
            await add_new_agents(session_log, root)
            if to is not None and to not in (MAIN, *await self._agents(session_log, root)):
                raise NotFound(kind="agent description", name=to)
            await self.close_abandoned(session_log)
            return await self.open(
                session_log,
                text,
                speaker,
                to,
                key,
                asks=asks,
                nesting=nesting,
                workspace=workspace,
            )

    async def _agents(self, session_log: SessionLog, root: Path) -> dict[str, AgentFile]:
        return await asyncio.to_thread(agents_of, session_log.team.delegation, root)

    async def open(
        self,
        session_log: SessionLog,
        text: str,
        speaker: str,
        to: str | None = None,
        key: str | None = None,
        *,
        asks: bool = False,
        nesting: Nesting = BY_PERSON,
        workspace: WorkspaceId | None = None,
    ) -> OpenedConversation:
        """Open a conversation in a log that is open, and delegate or answer it."""
        delegation = session_log.team.delegation
        root = self.log_provider.folder(session_log.team).root
        agents = await self._agents(session_log, root)
        agents.pop(self.tasks.selector if self.tasks else "", None)  # it only chooses
        choices = past_choices(delegation.choices)
        chosen_by = nesting.asker("")
        decision = await asyncio.to_thread(
            decide, list(agents.values()), text, to, choices, chosen_by=chosen_by
        )
        selector = await self._selector_of(session_log, decision)
        if asks and decision.ambiguous and not selector:
            raise ambiguous(decision)
        opening = c.OpenConversation(
            text=text, speaker_name=nesting.asker(speaker), depth=nesting.least(delegation)
        )
        receipt = await session_log.send(opening, actor=nesting.actor(speaker), key=key)
        conversation = opened_by(receipt)
        follow_up: Command | None = None
        if workspace is not None:
            follow_up = c.HandWorkspace(workspace=workspace, conversation=conversation)
        elif to is not None:
            follow_up = c.RememberChoice(text=text, to=to, guess=decision.guess)
        if follow_up is not None and not nesting.depth:  # neither is an agent's to do
            await session_log.send(follow_up, actor=person(speaker))
        await self._follow_route(session_log, conversation, decision, selector)
        return OpenedConversation(conversation, receipt.seq)

    async def _follow_route(
        self, session_log: SessionLog, name: ConversationId, decision: Decision, selector: str
    ) -> None:
        """Record where a conversation goes, and delegate or answer it; a queue keeps it."""
        text = session_log.team.delegation.conversations[name].text
        route = route_command(name, decision, selector)
        fact = (await session_log.send(route, actor=MUSTER)).events[0].fact
        assert isinstance(fact, e.Routed)
        if selector:
            await self._delegate(session_log, name, selector, UNSURE)
        elif decision.agent == MAIN:
            await self._answer(session_log, fact, text)
        elif _has_main(session_log.team):
            await self._delegate(session_log, name, decision.agent, decision.reason)

    async def _selector_of(self, session_log: SessionLog, decision: Decision) -> str:
        """The agent that chooses for a router that is unsure: the one of the settings, or the lead.

        Empty if the router is sure, or the selector cannot run now; a warning says the latter.
        """
        team = session_log.team
        if self.tasks is None or not decision.is_unsure or not _has_main(team):
            return ""
        name = self.tasks.selector or self._choosing_lead(team, self.tasks)
        if not name:
            return ""
        refused = task_refusal(team, name, self._clock.now())
        why = str(refused) if refused else "" if self.tasks.can(name) else replies.no_program(name)
        if why:
            warning = c.LogWarning(text=f"the selector {name} was not asked: {why}")
            await session_log.send(warning, actor=MUSTER)
        return "" if why else name

    def _choosing_lead(self, team: Team, tasks: Tasks) -> str:
        """The lead, if it runs and its program answers every prompt; or else an empty name."""
        lead = team.lead
        if lead is None or team.shown_status(lead) is not Status.ALIVE:
            return ""
        return lead.id if tasks.answers_prompts(lead.id) else ""

    async def _delegate(
        self, session_log: SessionLog, name: ConversationId, agent: str, why: str
    ) -> None:
        """Delegate a conversation; if the agent cannot run, close it with the reason and remedy."""
        try:
            refused = await self.hand_over(session_log, name, agent, why)
        except Refused as error:  # the agent was paused or disabled after the check
            refused = str(error)
        if refused:
            text = session_log.team.delegation.conversations[name].text
            await close(session_log, name, refused, text, failed=True)

    async def hand_over(
        self, session_log: SessionLog, name: ConversationId, agent: str, why: str
    ) -> str:
        """Delegate from MAIN or the queue to an agent. Return the reason for a refusal, or ""."""
        if self.tasks is None or not self.tasks.can(agent):
            return replies.no_program(agent)
        refused = task_refusal(session_log.team, agent, self._clock.now())
        if refused is not None:
            return str(refused)
        told = assignments.prompt(await self.tasks.assignment(name, agent))
        await say(session_log, name, MAIN, Remark.TASK, f"To {agent}:\n\n{told}")
        seconds = self.tasks.seconds
        delegate = c.Delegate(conversation=name, to=agent, trigger=why, seconds=seconds)
        await session_log.send(delegate, actor=MUSTER)
        return ""

    async def views(self, *, after: int = 0) -> dict[ConversationId, ConversationView]:
        """Every conversation of the session's folder that began after this sequence number.

        All of them include those from before the server took the session over.
        """
        async with self.log_provider.access() as session_log:
            events = await session_log.history(session_log.root, after=after)
            views = views_of(events, home=session_log.team.delegation.home_state)
            own = {name: self._waiting(session_log, view) for name, view in views.items()}
        before = await asyncio.to_thread(earlier_sessions, events)
        return {**views_of(event for each in before for event in each.events), **own}

    async def earlier(self, name: ConversationId) -> PastSession | None:
        """The session that had this conversation before the server took it over, if it was so."""
        async with self.log_provider.access() as session_log:
            events = await session_log.history(session_log.root)
        before = await asyncio.to_thread(earlier_sessions, events)
        return next((each for each in before if each.has(name)), None)

    def _waiting(self, session_log: SessionLog, view: ConversationView) -> ConversationView:
        """Add to a queued conversation the reason why its agent cannot run, if there is one."""
        if view.state != QUEUE or view.outcome is not None or view.route is None:
            return view
        refused = task_refusal(session_log.team, view.route.agent, self._clock.now())
        return view if refused is None else replace(view, waits_because=str(refused))

    async def recover(self) -> None:
        """Update the folder, and close the conversations of keepers that have ended."""
        async with self.log_provider.access() as session_log:
            await self.close_abandoned(session_log)

    async def close_abandoned(self, session_log: SessionLog) -> None:
        """Close every conversation whose keeper has ended. Other machines know theirs."""
        if not session_log.is_here:
            return
        for conversation in in_order(session_log.team.delegation):
            keeper = conversation.keeper
            if keeper and conversation.state != QUEUE and not self._is_alive(keeper):
                await self.fail(session_log, conversation, "the program that led it has ended")

    async def fail(self, session_log: SessionLog, conversation: Conversation, why: str) -> None:
        """Close an interrupted conversation of a keeper as failed, in whichever state it is."""
        name = conversation.id
        if conversation.state not in (MAIN, QUEUE):
            wrote = await asyncio.to_thread(
                self.log_provider.folder(session_log.team).added_text, name
            )
            await say(session_log, name, conversation.state, Remark.THINKING, wrote)
            await finish_all(session_log, name, why)
        if name in session_log.team.delegation.conversations:
            closing = c.CloseConversation(conversation=name, summary=why, failed=True)
            await session_log.send(closing, actor=MUSTER)

    # ── MAIN ──────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, session_log: SessionLog, routed: e.Routed, text: str) -> None:
        """Answer a request that is routed to MAIN; if no agent matches, say so."""
        conversation = routed.conversation
        failed = routed.rule == "no-match"
        denied = None
        root = self.log_provider.folder(session_log.team).root
        agents = tuple(await self._agents(session_log, root))
        if failed:
            denied = replies.denial_in(root, text)
        if denied is not None:
            refusal = c.DenyPermission(
                conversation=conversation,
                rule=denied.rule,
                reason=denied.reason,
                suggestion=denied.suggestion,
            )
            await session_log.send(refusal, actor=MUSTER)
            answer = replies.suggested(denied, routed, agents)
        else:
            last = await self._last(session_log) if replies.about_the_past(text) else ""
            answer = replies.reply(routed, text, agents, last)
        await close(session_log, conversation, answer, text, failed=failed)

    async def _last(self, session_log: SessionLog) -> str:
        """The summary of the last conversation that an agent worked on, or else of the last one."""
        views = views_of(await session_log.history(session_log.team.delegation.path)).values()
        ended = [view for view in views if view.outcome]
        found = ([view for view in ended if view.trace] or ended)[-1:]
        return f"{found[0].conversation}, {found[0].summary}" if found else ""


# ── helpers ───────────────────────────────────────────────────────────────────────────────────────


def _has_main(team: Team) -> bool:
    return team.delegation.mode is not DelegationMode.RESPONSE


def require_open(session_log: SessionLog) -> Delegation:
    """The session, which must be open."""
    if session_log.team.delegation.mode is None:
        raise NoDelegation()
    return session_log.team.delegation


async def close(
    session_log: SessionLog, conversation: ConversationId, answer: str, about: str, *, failed: bool
) -> None:
    """Record the answer to the human, and close the conversation."""
    await say(session_log, conversation, MAIN, Remark.ANSWER, answer)
    summary = f"{clipped(about)}: {clipped(answer)}"
    closing = c.CloseConversation(conversation=conversation, summary=summary, failed=failed)
    await session_log.send(closing, actor=MUSTER)


async def finish_all(session_log: SessionLog, name: ConversationId, why: str) -> None:
    """Finish the tasks of all agents that work on a conversation, as failed."""
    while (found := session_log.team.delegation.conversations.get(name)) is not None:
        if found.state in (MAIN, QUEUE):
            return
        finish = c.FinishTask(conversation=name, epoch=found.epoch, summary=why, failed=True)
        await session_log.send(finish, actor=MUSTER)


async def say(
    session_log: SessionLog, conversation: ConversationId, speaker: str, kind: Remark, text: str
) -> None:
    """Record a remark in the dialogue, unless it is blank."""
    if text.strip():
        command, actor = remark(conversation, speaker, kind, text)
        await session_log.send(command, actor=actor)


def past_choices(choices: Sequence[RememberedChoice]) -> tuple[PastChoice, ...]:
    """The remembered choices of people, as the router takes them."""
    return tuple(PastChoice(each.text, each.agent) for each in choices)


def decide(
    agents: list[AgentFile],
    text: str,
    to: str | None = None,
    choices: Sequence[PastChoice] = (),
    *,
    chosen_by: str = "",
) -> Decision:
    """Route a request to an agent; `to` comes first: a person's choice, or an agent's."""
    decision = Router(agents, choices=choices).route(text)
    if to is None:
        return decision
    return Decision(
        agent=to,
        confidence=1.0,
        margin=decision.margin,
        candidates=decision.candidates,
        rule=CHOSEN_BY_AGENT if chosen_by else CHOSEN,
        reason=f"Chosen by {chosen_by or 'a person'}",
        router=decision.router,
        guess="" if decision.ambiguous else decision.agent,
    )


def ambiguous(decision: Decision) -> Ambiguous:
    """The refusal of an ambiguous request: the agents to choose from, each with its reason."""
    choices = ranked(decision.choices)
    told = " or ".join(f"{each.agent} ({each.reason})" for each in choices)
    return Ambiguous(choices=told, candidates=msgspec.to_builtins(choices))


def ranked(candidates: Sequence[Candidate]) -> tuple[Ranked, ...]:
    """Candidates of a routing decision, each with the words that matched."""
    return tuple(
        Ranked(
            agent=each.agent,
            score=each.score,
            words=tuple(piece.typed for piece in typed_words(each.evidence, most=5)),
            reason=each.reason,
        )
        for each in candidates
    )


def route_command(conversation: ConversationId, decision: Decision, selector: str = "") -> Command:
    """The command that records a routing decision and its reason.

    `selector` is the agent that is asked to choose.
    """
    return c.RecordRoute(
        conversation=conversation,
        to=decision.agent,
        confidence=decision.confidence,
        rule=decision.rule,
        reason=decision.reason,
        router=decision.router,
        margin=decision.margin,
        candidates=ranked(decision.candidates),
        ambiguous=decision.ambiguous,
        guess=decision.guess,
        selector=selector,
    )


def opened_by(receipt: Receipt) -> ConversationId:
    """The conversation that a command has opened."""
    fact = receipt.events[0].fact
    assert isinstance(fact, e.ConversationStart)
    return fact.conversation
