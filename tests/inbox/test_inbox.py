"""The inbox: a polling agent gets its next task, and every message exactly once."""

import asyncio
from typing import NamedTuple

import pytest

from muster.engine.dispatcher import Dispatcher, Receipt
from muster.inbox import inbox as inboxes
from muster.inbox.errands import Known, Wanted
from muster.inbox.inbox import Inbox
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.events import MessagesDelivered
from muster.machines.ids import ChannelId, NodeId, SeatId, agent_actor
from muster.machines.state import Status, TurnState
from muster.machines.vocabulary import Authority, Awaits, InterruptMode, RunMode, TurnConfig
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.views.answers.messages import Do, Next
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    a_feed,
    logged,
    run,
    settled,
    want,
    with_agents,
    with_channel,
)

OPS = ChannelId("ops")
LONG_SECONDS = 60.0
"""Longer than any test takes: a request that waits this long is answered by an event."""


class Team(NamedTuple):
    """Ada and Ben in one channel, Ada's turn, and their inbox."""

    store: MemoryStore
    dispatcher: Dispatcher
    inbox: Inbox

    async def send(self, command: Command) -> Receipt:
        return await self.dispatcher.send(command, actor=agent_actor("Ada"))

    async def ask(self, seat: SeatId, known: Known | None = None, *, wait_s: float = 0.0) -> Next:
        return await self.inbox.next(
            seat, self.send, Wanted(known=known or {}), wait_s=wait_s, actor=agent_actor("Ada")
        )

    async def says(self, text: str, channel: ChannelId = DESIGN) -> None:
        post = c.PostMessage(channel=channel, text=text, speaker_name="Marcus")
        await self.dispatcher.send(post, actor=HUMAN)

    async def tells(self, seat: SeatId, text: str) -> None:
        told = c.SendMessage(text=text, speaker_name="Marcus", seat=seat)
        await self.dispatcher.send(told, actor=HUMAN)

    async def speaks(self, seat: SeatId, text: str, *, complete: bool = True) -> None:
        await self.send(c.Speak(channel=DESIGN, seat=seat, text=text, complete=complete))


async def a_team(mode: InterruptMode = InterruptMode.INJECT) -> Team:
    store = MemoryStore()
    dispatcher = await a_dispatcher(store, ManualClock())
    feed = a_feed(store, dispatcher)
    await with_agents(dispatcher, "Ada", "Ben")
    await with_channel(dispatcher, [ADA, BEN], config=TurnConfig(human_interrupt_mode=mode))
    return Team(store, dispatcher, Inbox(feed, dispatcher))


async def after_a_round(team: Team) -> None:
    """Both have spoken, and have been told what the other said; Ada has the turn."""
    for seat in (ADA, BEN):
        await team.ask(seat)
        await team.speaks(seat, "first")
    await team.ask(ADA)


def texts(told: Next) -> list[str]:
    return [message.text for message in told.messages]


def test_the_holder_gets_its_turn_with_the_epoch_and_all_messages() -> None:
    async def scene() -> None:
        team = await a_team()
        told = await team.ask(ADA)
        assert (told.do, told.channel, told.epoch, told.messages) == (Do.TURN, DESIGN, 1, ())
        assert told.timeout_at is not None
        await team.speaks(ADA, "hello")
        told = await team.ask(BEN)
        assert (told.do, told.epoch, texts(told)) == (Do.TURN, 2, ["hello"])

    run(scene())


def test_an_agent_that_knows_its_turn_gets_only_new_messages() -> None:
    async def scene() -> None:
        team = await a_team()
        assert (await team.ask(ADA, {DESIGN: 1})).do is Do.NOTHING
        await team.says("by the way")
        told = await team.ask(ADA, {DESIGN: 1})
        assert (told.do, texts(told)) == (Do.MESSAGE, ["by the way"])
        await team.speaks(ADA, "well", complete=False)  # its own messages are not delivered
        assert (await team.ask(ADA, {DESIGN: 1})).do is Do.NOTHING

    run(scene())


def test_a_notice_wakes_nobody_and_comes_with_the_next_message_or_turn() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await a_dispatcher(store, clock)
        feed = a_feed(store, dispatcher)
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        team = Team(store, dispatcher, Inbox(feed, dispatcher))
        clock.advance(60)
        await dispatcher.send(c.CheckChannel(channel=DESIGN), actor=HUMAN)  # Ada's turn is over

        waiting = asyncio.ensure_future(team.ask(BEN, {DESIGN: 2}, wait_s=LONG_SECONDS))
        await settled()
        assert not waiting.done()
        await team.says("by the way")
        told = await waiting
        assert [each.kind for each in told.messages] == ["notice", "person"]
        assert (await team.ask(BEN, {DESIGN: 2})).do is Do.NOTHING  # delivered once
        await team.speaks(BEN, "well")
        assert [each.kind for each in (await team.ask(ADA)).messages] == [
            *("notice", "person", "agent")
        ]

    run(scene())


def test_after_a_lost_answer_the_turn_comes_again_with_delivered_messages_marked() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.says("one")
        await team.ask(ADA)
        await team.says("two")
        told = await team.ask(ADA)
        assert [(each.text, each.again) for each in told.messages] == [
            ("one", True),
            ("two", False),
        ]
        await team.speaks(ADA, "done")
        await team.speaks(BEN, "me too")
        assert texts(await team.ask(ADA)) == ["me too"]

    run(scene())


def test_an_agent_that_works_on_a_lost_turn_is_told_that_it_is_over() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.send(c.CompleteTurn(channel=DESIGN, seat=ADA))
        told = await team.ask(ADA, {DESIGN: 1})
        assert (told.do, told.channel, told.epoch) == (Do.OVER, DESIGN, 1)
        assert told.state is TurnState.QUEUED
        told = await team.ask(ADA, {OPS: 4})
        assert (told.do, told.channel, told.epoch) == (Do.OVER, OPS, 4)
        await team.send(c.WaitTurn(channel=DESIGN, seat=BEN, reason="a build"))
        told = await team.ask(BEN, {DESIGN: 2})
        assert (told.do, told.state) == (Do.OVER, TurnState.WAITING)

    run(scene())


def test_an_agent_that_knows_of_the_pause_is_told_when_its_turn_goes_on_or_is_lost() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.INTERRUPT)
        await team.says("wait a moment")

        async def watch(messages: bool) -> Next:
            return await team.inbox.next(
                ADA, team.send, Wanted(paused={DESIGN: 1}, messages=messages), wait_s=0.0
            )

        assert (await watch(messages=False)).do is Do.NOTHING
        told = await watch(messages=True)
        assert (told.do, told.state, texts(told)) == (
            Do.MESSAGE,
            TurnState.WAITING,
            ["wait a moment"],
        )
        release = c.OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.ACTIVE)
        await team.dispatcher.send(release, actor=HUMAN)
        told = await watch(messages=False)
        assert (told.do, told.epoch, texts(told)) == (Do.TURN, 1, [])
        await team.dispatcher.send(c.RemoveMember(channel=DESIGN, seat=ADA), actor=HUMAN)
        told = await watch(messages=False)
        assert (told.do, told.reason) == (Do.OVER, "not a member of the channel")

    run(scene())


def test_a_request_that_only_watches_a_turn_leaves_messages_for_later() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.says("hello")
        told = await team.inbox.next(
            ADA, team.send, Wanted(known={DESIGN: 1}, messages=False), wait_s=0.0, actor=HUMAN
        )
        assert told.do is Do.NOTHING
        told = await team.ask(ADA, {DESIGN: 1})
        assert [(each.text, each.again) for each in told.messages] == [("hello", False)]

    run(scene())


@pytest.mark.parametrize("mode", [InterruptMode.PARALLEL, InterruptMode.INJECT])
def test_work_on_a_turn_gets_no_message_and_no_turn_of_another_channel(mode: InterruptMode) -> None:
    async def scene() -> None:
        team = await a_team()
        two = c.ConfigureAgent(seat=ADA, authority=Authority.SELF, max_turns=2)
        await team.dispatcher.send(two, actor=HUMAN)
        await team.ask(ADA)
        config = TurnConfig(human_interrupt_mode=mode)
        await with_channel(team.dispatcher, [ADA], channel=OPS, config=config)
        await team.says("a secret", OPS)
        wanted = Wanted(known={DESIGN: 1}, channel=DESIGN)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(
                team.inbox.next(ADA, team.send, wanted, wait_s=LONG_SECONDS, actor=HUMAN)
            )
            await settled()
            assert not waiting.done()
            await team.says("by the way")
            told = await waiting
        assert (told.do, told.channel, texts(told)) == (Do.MESSAGE, DESIGN, ["by the way"])
        await team.tells(ADA, "psst")
        told = await team.inbox.next(ADA, team.send, wanted, wait_s=0.0)
        assert (told.do, told.channel, texts(told)) == (Do.MESSAGE, None, ["psst"])
        told = await team.ask(ADA, {DESIGN: 1})
        assert (told.do, told.channel) == (Do.TURN, OPS)
        assert [(each.text, each.again) for each in told.messages] == [("a secret", False)]

    run(scene())


def test_a_message_outside_a_turn_waits_for_the_turn_if_it_is_not_wanted_before() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.PARALLEL)
        await team.ask(ADA)
        await team.says("to all")
        told = await team.inbox.next(BEN, team.send, Wanted(outside=False), wait_s=0.0)
        assert told.do is Do.NOTHING
        await team.speaks(ADA, "done")
        told = await team.inbox.next(BEN, team.send, Wanted(outside=False), wait_s=0.0)
        assert told.do is Do.TURN
        assert [(each.text, each.again) for each in told.messages] == [
            ("to all", False),
            ("done", False),
        ]

    run(scene())


def test_a_turn_that_waits_for_resume_gets_messages_to_every_member() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.PARALLEL)
        await team.ask(ADA)
        await team.send(c.WaitTurn(channel=DESIGN, seat=ADA, reason="x", awaits=Awaits.RESUME))
        await team.says("to all")
        told = await team.inbox.next(ADA, team.send, Wanted(outside=False), wait_s=0.0)
        assert (told.do, texts(told)) == (Do.MESSAGE, ["to all"])

    run(scene())


def test_messages_during_a_paused_turn_come_when_it_resumes() -> None:
    async def scene() -> None:
        team = await a_team()
        wait = c.WaitTurn(channel=DESIGN, seat=ADA, reason="a build", awaits=Awaits.RESUME)
        await team.send(wait)
        await team.says("the answer")
        assert (await team.ask(ADA)).do is Do.NOTHING
        await team.send(c.ResumeTurn(channel=DESIGN, seat=ADA))
        told = await team.ask(ADA)
        assert (told.do, told.epoch, texts(told)) == (Do.TURN, 1, ["the answer"])

    run(scene())


def test_the_answer_of_a_person_ends_the_wait_for_it_and_is_handed_over() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.send(c.WaitTurn(channel=DESIGN, seat=ADA, reason="an answer"))
        await team.says("the answer")
        told = await team.ask(ADA, {DESIGN: 1})
        assert (told.do, told.state, texts(told)) == (
            Do.MESSAGE,
            TurnState.ACTIVE,
            ["the answer"],
        )

    run(scene())


def test_a_notice_is_handed_over_with_the_next_turn_and_wakes_nobody() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.send(c.DisconnectAgent(seat=ADA, reason="heartbeat"))
        assert texts(await team.ask(BEN)) == ["⚠️ Ada disconnected, skipping turn"]
        await team.send(c.ConnectAgent(seat=ADA))
        await team.send(c.AddMember(channel=DESIGN, seat=ADA))
        await team.send(c.DisconnectAgent(seat=BEN, reason="heartbeat"))
        assert (await team.ask(ADA, {DESIGN: 3})).do is Do.NOTHING
        assert texts(await team.ask(ADA))[-1] == "⚠️ Ben disconnected, skipping turn"

    run(scene())


def test_a_queued_message_is_held_back_until_the_turn_is_over() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.QUEUE)
        await team.says("later")
        assert (await team.ask(ADA, {DESIGN: 1})).do is Do.NOTHING
        assert texts(await team.ask(ADA)) == []
        await team.speaks(ADA, "done")
        assert texts(await team.ask(BEN)) == ["later", "done"]
        await team.speaks(BEN, "me too")
        assert texts(await team.ask(ADA)) == ["later", "me too"]

    run(scene())


def test_a_queued_message_is_delivered_with_a_later_urgent_one() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.QUEUE)
        await team.says("later")
        changed = c.ConfigureChannel(channel=DESIGN, config=TurnConfig())
        await team.dispatcher.send(changed, actor=HUMAN)
        await team.says("now")
        assert texts(await team.ask(ADA, {DESIGN: 1})) == ["later", "now"]

    run(scene())


def test_a_message_queued_in_a_resting_channel_comes_with_the_turn() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.QUEUE)
        for _ in range(3):
            await team.send(c.CompleteTurn(channel=DESIGN, seat=ADA))
            await team.send(c.CompleteTurn(channel=DESIGN, seat=BEN))
        assert team.dispatcher.team.channel(DESIGN).resting
        await team.says("wake up")
        assert texts(await team.ask(ADA)) == ["wake up"]

    run(scene())


def test_in_parallel_mode_waiting_members_get_all_messages_up_to_the_human_one() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.PARALLEL)
        await team.speaks(ADA, "first", complete=False)
        assert (await team.ask(BEN)).do is Do.NOTHING
        await team.says("everybody")
        told = await team.ask(BEN)
        assert (told.do, told.state) == (Do.MESSAGE, TurnState.QUEUED)
        assert texts(told) == ["first", "everybody"]
        assert (told.epoch, told.timeout_at) == (None, None)
        assert (await team.ask(BEN)).do is Do.NOTHING

    run(scene())


def test_a_direct_message_is_delivered_once_and_to_no_other_agent() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.tells(BEN, "for you")
        told = await team.ask(BEN)
        assert (told.do, told.channel, texts(told)) == (Do.MESSAGE, None, ["for you"])
        assert (await team.ask(BEN)).do is Do.NOTHING
        assert texts(await team.ask(ADA)) == []

    run(scene())


def test_a_disabled_agent_is_told_to_stop() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.dispatcher.send(c.DisableAgent(seat=ADA), actor=HUMAN)
        told = await team.ask(ADA)
        assert (told.do, told.reason, told.state) == (Do.STOP, "disabled", TurnState.OFFLINE)

    run(scene())


def test_a_paused_agent_is_told_to_stop_when_it_holds_no_turn() -> None:
    async def scene() -> None:
        team = await a_team()
        wish = c.SetDesired(seat=ADA, desired=RunMode.PAUSE, set_by="Ann", note="enough")
        await team.dispatcher.send(wish, actor=HUMAN)
        assert (await team.ask(ADA)).do is Do.TURN
        await team.speaks(ADA, "my last words")
        told = await team.ask(ADA)
        assert (told.do, told.reason) == (Do.STOP, "enough")

    run(scene())


def test_a_paused_agent_that_polls_is_not_connected() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.send(c.DisconnectAgent(seat=ADA, reason="left"))
        wish = c.SetDesired(seat=ADA, desired=RunMode.PAUSE, set_by="Ann")
        await team.dispatcher.send(wish, actor=HUMAN)
        told = await team.ask(ADA)
        assert (told.do, told.reason, told.state) == (Do.STOP, "paused", TurnState.OFFLINE)
        assert team.dispatcher.team.agent(ADA).status is Status.SLEEPING

    run(scene())


def test_an_agent_that_polls_is_connected() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.send(c.DisconnectAgent(seat=ADA, reason="left"))
        assert (await team.ask(ADA)).state is TurnState.IDLE
        assert team.dispatcher.team.agent(ADA).status is Status.ALIVE

    run(scene())


@pytest.mark.parametrize("what", ["turn", "message", "direct", "stop", "pause"])
def test_a_waiting_request_is_answered_when_there_is_a_task(what: str) -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.PARALLEL)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            assert not asking.done()
            if what == "turn":
                await team.speaks(ADA, "yours")
            elif what == "message":
                await team.says("everybody")
            elif what == "direct":
                await team.tells(BEN, "for you")
            elif what == "pause":
                await want(team.dispatcher, BEN, RunMode.PAUSE)
            else:
                await team.dispatcher.send(c.DisableAgent(seat=BEN), actor=HUMAN)
        wanted = {"turn": Do.TURN, "stop": Do.STOP, "pause": Do.STOP}
        assert asking.result().do is wanted.get(what, Do.MESSAGE)

    run(scene())


def test_a_turn_is_granted_and_delivered_in_one_commit_to_an_agent_that_waits() -> None:
    async def scene() -> None:
        team = await a_team()
        await after_a_round(team)
        commits: list[list[str]] = []
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            team.dispatcher.watch(lambda commit: commits.append([e.type for e in commit.events]))
            await team.speaks(ADA, "hello")
        told = asking.result()
        assert (told.do, told.epoch, texts(told)) == (Do.TURN, 4, ["hello"])
        assert [each.again for each in told.messages] == [False]
        assert len(commits) == 1
        assert commits[0][-2:] == ["state_transition", "messages_delivered"]
        assert [each.again for each in (await team.ask(BEN)).messages] == [True]

    run(scene())


def test_of_two_requests_that_wait_only_one_gets_a_message_as_new() -> None:
    async def scene() -> None:
        team = await a_team()
        await after_a_round(team)
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS)) for _ in range(2)]
            await settled()
            await team.speaks(ADA, "hello")
        told = [each.again for asked in asking for each in asked.result().messages]
        assert sorted(told) == [False, True]

    run(scene())


def test_a_turn_that_was_delivered_to_a_request_that_is_gone_comes_again() -> None:
    async def scene() -> None:
        team = await a_team()
        await after_a_round(team)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            begun = team.dispatcher.begin(
                c.Speak(channel=DESIGN, seat=ADA, text="hello", complete=True), actor=HUMAN
            )
            asking.cancel()
            await begun.written
        [*_, delivered] = await logged(team.store, MessagesDelivered)
        assert delivered.seq == team.dispatcher.team.seq
        told = await team.ask(BEN)
        assert [(each.text, each.again) for each in told.messages] == [("hello", True)]

    run(scene())


def test_messages_that_have_left_memory_are_delivered_after_the_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        team = await a_team()
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            monkeypatch.setattr(inboxes, "PAGE_MESSAGES", 1)
            await team.speaks(ADA, "one", complete=False)
            await team.speaks(ADA, "two")
        assert texts(asking.result()) == ["one"]
        assert texts(await team.ask(BEN, {DESIGN: 2})) == ["two"]

    run(scene())


def test_commits_about_other_seats_do_not_answer_a_waiting_request() -> None:
    async def scene() -> None:
        team = await a_team()
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            await team.says("for Ada")
            await team.tells(ADA, "for Ada")
            await settled()
            assert not asking.done()
            team.inbox.close()
        assert asking.result().do is Do.NOTHING

    run(scene())


def test_closing_the_inbox_answers_waiting_requests_and_later_ones_at_once() -> None:
    async def scene() -> None:
        team = await a_team()
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(team.ask(BEN, wait_s=LONG_SECONDS))
            await settled()
            team.inbox.close()
        assert asking.result().do is Do.NOTHING
        assert (await team.ask(BEN, wait_s=LONG_SECONDS)).do is Do.NOTHING

    run(scene())


def test_concurrent_requests_of_one_agent_never_get_the_same_message_as_new() -> None:
    async def scene() -> None:
        team = await a_team()
        known = {DESIGN: 1}
        async with asyncio.TaskGroup() as tasks:
            askers = [
                tasks.create_task(team.ask(ADA, known, wait_s=LONG_SECONDS)) for _ in range(2)
            ]
            await settled()
            await team.says("one")
            await settled()
            await team.says("two")
        handed = [message for asker in askers for message in asker.result().messages]
        assert sorted(each.text for each in handed) == ["one", "two"]
        delivered = await logged(team.store, MessagesDelivered)
        assert len({event.fact for event in delivered}) == len(delivered)

    run(scene())


def test_own_messages_of_a_chatty_agent_are_skipped_and_read_only_once() -> None:
    async def scene() -> None:
        team = await a_team()
        for number in range(inboxes.PAGE_MESSAGES + 1):
            await team.speaks(ADA, str(number), complete=False)
        await team.says("listen")
        assert texts(await team.ask(ADA, {DESIGN: 1})) == ["listen"]
        for number in range(inboxes.OWN_MAX):
            await team.speaks(ADA, str(number), complete=False)
        assert (await team.ask(ADA, {DESIGN: 1})).do is Do.NOTHING
        channel = team.dispatcher.team.channel(DESIGN)
        assert channel.delivered[ADA] == channel.last_message

    run(scene())


def test_an_interrupted_turn_is_over_and_comes_again_when_it_resumes() -> None:
    async def scene() -> None:
        team = await a_team(InterruptMode.INTERRUPT)
        await team.says("a moment")
        assert (await team.ask(ADA, {DESIGN: 1})).do is Do.OVER
        told = await team.ask(ADA)
        assert (told.do, told.state, texts(told)) == (Do.MESSAGE, TurnState.WAITING, ["a moment"])
        assert (await team.ask(ADA)).do is Do.NOTHING
        await team.dispatcher.send(c.ResumeTurn(channel=DESIGN, seat=ADA), actor=HUMAN)
        told = await team.ask(ADA)
        assert (told.do, told.epoch) == (Do.TURN, 1)

    run(scene())


def test_an_agent_that_is_removed_during_a_delivery_gets_nothing() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.says("hello")

        async def send(command: Command) -> Receipt:
            if isinstance(command, c.DeliverMessages):
                removed = c.RemoveMember(channel=DESIGN, seat=ADA)
                await team.dispatcher.send(removed, actor=HUMAN)
            return await team.send(command)

        told = await team.inbox.next(ADA, send, wait_s=0)
        assert (told.do, told.state, told.messages) == (Do.NOTHING, TurnState.IDLE, ())

    run(scene())


def test_an_agent_whose_removal_is_not_committed_yet_does_not_hold_up_the_commit() -> None:
    async def scene() -> None:
        team = await a_team()
        await team.says("hello")
        removals: list[asyncio.Future[Receipt]] = []

        async def send(command: Command) -> Receipt:
            assert not removals, "it tries again before the event loop had a chance to commit"
            removed = c.RemoveMember(channel=DESIGN, seat=ADA)
            removals.append(asyncio.ensure_future(team.dispatcher.send(removed, actor=HUMAN)))
            await asyncio.sleep(0)
            assert ADA not in team.dispatcher.head.channels[DESIGN].ring
            assert ADA in team.dispatcher.team.channels[DESIGN].ring
            return await team.send(command)

        told = await team.inbox.next(ADA, send, wait_s=0)
        assert (told.do, told.messages) == (Do.NOTHING, ())
        await asyncio.gather(*removals)

    run(scene())


def test_messages_beyond_the_limit_of_an_answer_come_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        team = await a_team()
        for text in ("one", "two", "three", "four"):
            await team.says(text)
        monkeypatch.setattr(inboxes, "PAGE_MESSAGES", 3)
        assert texts(await team.ask(ADA)) == ["one", "two", "three"]
        monkeypatch.setattr(inboxes, "PAGE_BYTES", 1)
        assert texts(await team.ask(ADA, {DESIGN: 1})) == ["four"]
        await team.says("five")
        await team.says("six")
        assert texts(await team.ask(ADA, {DESIGN: 1})) == ["five"]

    run(scene())


def test_a_message_is_new_on_one_node_only_if_the_agent_polls_two_at_once() -> None:
    async def scene() -> None:
        team = await a_team()
        beside = await a_dispatcher(team.store.beside(), ManualClock(), "box-life", NodeId("box"))
        box = Team(team.store, beside, Inbox(a_feed(team.store, beside), beside))
        await settled()
        asked = [asyncio.ensure_future(each.ask(BEN, wait_s=LONG_SECONDS)) for each in (team, box)]
        await settled()
        await team.tells(BEN, "Ship it.")
        told, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        [answer] = [each.result() for each in told]
        assert [each.text for each in answer.messages] == ["Ship it."]
        await settled()
        assert [each.done() for each in asked].count(True) == 1  # the other one still waits
        for each in asked:
            each.cancel()

    run(scene())
