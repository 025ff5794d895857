"""Approvals: judges a permission request of a session, records it, and waits for its answer.

What the policy of an open state machine session denies, no person is asked about. Else the answer
comes from a person on any interface, from the deadline, or from the end of the session. Each of
these is an event in the log; the session gets the answer when that event is on disk.

A program chooses how long its request takes to judge and to describe, so the worker does both. A
request that takes too long to judge is denied; one that takes too long to describe says so.
"""

import asyncio
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Permission, PermissionAnswer
from muster.errors import Refused
from muster.machines import events as e
from muster.machines.commands import LogWarning, RequestApproval
from muster.machines.ids import MUSTER, SeatId, SessionId, agent_actor
from muster.machines.state import Team
from muster.machines.vocabulary import Answered
from muster.sessions.request_facts import RequestFacts, facts_of, no_facts
from muster.sessions.session_policy import PolicyDenial, denial, has_policy, state_of, unjudged
from muster.worker.judging import JUDGE_SECONDS
from muster.worker.limits import TimeIsUp
from muster.worker.process import Worker

FACTS_SECONDS: Final = 1.0
"""CPU time to describe a request: the largest file that is compared takes a third of it."""


class Approvals:
    """The open permission requests of this muster process."""

    def __init__(self, dispatcher: Dispatcher, worker: Worker) -> None:
        """Watch every commit for requests and answers."""
        self._dispatcher = dispatcher
        self._worker = worker
        self._open: dict[str, asyncio.Future[e.ApprovalAnswered]] = {}
        self._order: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        dispatcher.watch(self._note)

    async def ask(self, session: SessionId, seat: SeatId, request: Permission) -> PermissionAnswer:
        """Request an approval for the session of a seat, and wait for the answer."""
        async with self._order.setdefault(session, asyncio.Lock()):  # as the session asked
            asked = await self._request(session, seat, request)
        if isinstance(asked, PermissionAnswer):
            return asked
        try:
            return _verdict(await self._open[asked])
        finally:
            self._open.pop(asked, None)

    async def _request(
        self, session: SessionId, seat: SeatId, request: Permission
    ) -> PermissionAnswer | str:
        """The answer where no person is asked, else the id of the request."""
        team = self._dispatcher.team
        denied = None
        if has_policy(team) and not request.is_judged:
            denied = await self._denial(team, seat, request)
        if denied is not None:
            warning = LogWarning(text=f"denied ({denied.rule}): {denied.reason}", seat=seat)
            await self._dispatcher.send(warning, actor=MUSTER)
            return PermissionAnswer(False, denied.reason)
        if request.is_settled:
            return PermissionAnswer(True, "")
        return await self._ask_person(session, seat, request)

    async def _denial(self, team: Team, seat: SeatId, request: Permission) -> PolicyDenial | None:
        state, owner = state_of(team.agents[seat]), f"requests of {seat}"
        judging = partial(denial, team.delegation.path, state, request)
        try:
            return await self._worker.run(judging, seconds=JUDGE_SECONDS, owner=owner)
        except TimeIsUp:
            return unjudged(state)

    async def _facts(self, seat: SeatId, request: Permission) -> RequestFacts:
        looking, owner = partial(facts_of, request), f"requests of {seat}"
        try:
            return await self._worker.run(looking, seconds=FACTS_SECONDS, owner=owner)
        except TimeIsUp:
            return no_facts(request)

    async def _ask_person(
        self, session: SessionId, seat: SeatId, request: Permission
    ) -> PermissionAnswer | str:
        actor = agent_actor(self._dispatcher.team.agents[seat].id)
        facts = await self._facts(seat, request)
        command = RequestApproval(
            session=session,
            tool=request.tool,
            detail=request.detail,
            by=request.by,
            seconds=request.seconds,
            default=request.default,
            rules=request.rules,
            folder=facts.folder,
            effects=facts.effects,
            change=facts.change,
        )
        try:
            receipt = await self._dispatcher.send(command, actor=actor)
        except Refused as refused:
            return PermissionAnswer(False, str(refused))
        requested = receipt.events[0].fact
        assert isinstance(requested, e.ApprovalRequested)
        return requested.approval

    def _note(self, commit: Commit) -> None:
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.ApprovalRequested) and fact.session is not None:
                self._open[fact.approval] = asyncio.get_running_loop().create_future()
            elif isinstance(fact, e.ApprovalAnswered):
                answer = self._open.get(fact.approval)
                if answer is not None and not answer.done():
                    answer.set_result(fact)


def _verdict(answer: e.ApprovalAnswered) -> PermissionAnswer:
    if answer.how is Answered.PERSON:
        said = "A person allowed it" if answer.allow else "A person did not allow it"
        reason = f"{said}: {answer.note}" if answer.note else f"{said}."
        return PermissionAnswer(answer.allow, reason, answer.scope, answer.note)
    if answer.how is Answered.DEADLINE:
        held = "so it is allowed, as declared" if answer.allow else "so it is not allowed"
        return PermissionAnswer(answer.allow, f"Nobody answered in time, {held}.")
    return PermissionAnswer(False, "The session is over.")
