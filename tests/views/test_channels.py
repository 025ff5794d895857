"""Views of channels and messages, as members see them."""

from datetime import timedelta

import msgspec

from muster.machines import commands as c
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import InterruptMode, Outcome, TurnConfig
from muster.store.base import Stored
from muster.store.codec import decode, stored
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.views.answers.channels import ChannelState
from muster.views.answers.messages import Delivery, MessageKind, MessageView
from muster.views.channels import channel_state
from muster.views.content.messages import (
    message_view,
    posted_message,
    read_page,
    read_state,
    unread_of,
)
from tests.builders import ADA, BEN, DESIGN, HUMAN, a_dispatcher, run, with_agents, with_channel
from tests.machines.scene import REVIEWS, START, Scene
from tests.machines.turns.test_turns import trio


def board(scene: Scene) -> ChannelState:
    return channel_state(scene.team, scene.channel())


def messages(scene: Scene) -> list[Stored]:
    """The messages of a scene, from the log."""
    every = [stored(event) for event in scene.log]
    return [each for each in every if each.type in ("user_message", "agent_message")]


def delivered(scene: Scene, name: str) -> None:
    """Deliver all messages to an agent."""
    upto = scene.channel().last_message
    scene.do(c.DeliverMessages(seat=scene.seat(name), upto=upto, channel=REVIEWS))


# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_shows_its_ring_its_holder_and_everybodys_state() -> None:
    scene = trio()
    seen = board(scene)
    assert (seen.ring, seen.holder, seen.next) == (("pm", "dev", "qa"), "pm", "dev")
    assert [(each.agent, each.state) for each in seen.members] == [
        ("pm", TurnState.ACTIVE),
        ("dev", TurnState.QUEUED),
        ("qa", TurnState.QUEUED),
    ]
    assert (seen.epoch, seen.waiting, seen.resting, seen.stopping) == (1, None, False, None)


def test_the_deadline_of_a_turn_is_the_nearest_of_all_that_end_it() -> None:
    scene = trio(TurnConfig(auto_detect_turn_end=True, auto_detect_silence_seconds=5))
    assert board(scene).timeout_at == START + timedelta(seconds=60)
    assert board(scene).ends_at == START + timedelta(seconds=1800)
    scene.says("pm")
    assert board(scene).timeout_at == START + timedelta(seconds=5)


def test_a_turn_that_stands_still_shows_why_and_until_when() -> None:
    scene = trio()
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="a build"))
    seen = board(scene)
    assert seen.waiting is not None
    assert (seen.waiting.reason, seen.waiting.by_human) == ("a build", False)
    assert seen.timeout_at == seen.waiting.until == START + timedelta(seconds=300)
    assert seen.members[0].state is TurnState.WAITING


def test_a_channel_that_stops_work_shows_whose_and_until_when() -> None:
    scene = Scene()
    scene.running("pm", "dev")
    scene.channel_of("pm", "dev")
    scene.later(60)
    seen = board(scene)
    assert (seen.holder, seen.stopping) == (None, "pm")
    assert seen.timeout_at == scene.now + timedelta(seconds=10)


def test_a_member_that_was_put_to_sleep_keeps_its_place_and_is_shown_as_away() -> None:
    scene = Scene()
    scene.running("pm", "dev")
    scene.channel_of("pm", "dev")
    scene.ends("dev", Outcome.COMPLETED)
    scene.later(0.5)
    assert [each.present for each in board(scene).members] == [True, False]


def test_an_empty_channel_has_nobody_next_and_no_deadline() -> None:
    scene = Scene()
    scene.channel_of()
    seen = board(scene)
    assert (seen.ring, seen.next, seen.holder, seen.timeout_at) == ((), None, None, None)


def test_a_channel_shows_all_its_rules_those_that_nobody_changed_too() -> None:
    shown = msgspec.to_builtins(board(trio(TurnConfig(default_timeout_seconds=5))))["config"]
    assert shown["defaultTimeoutSeconds"] == 5
    assert shown["humanInterruptMode"] == "inject"
    assert len(shown) == len(TurnConfig.__struct_fields__)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def test_a_message_shows_who_said_what_to_whom() -> None:
    scene = trio()
    scene.posts("hello")
    scene.says("pm", "word")
    human, agent = (message_view(decode(each.data), scene.team) for each in messages(scene))
    assert (human.speaker, human.text, human.by_human) == ("Marcus", "hello", True)
    assert (human.kind, agent.kind) == (MessageKind.PERSON, MessageKind.AGENT)
    assert (human.mode, human.deliver_to) == (InterruptMode.INJECT, ("pm",))
    assert (agent.speaker, agent.text, agent.by_human) == ("pm", "word", False)
    assert (agent.channel, agent.seat, agent.epoch) == (REVIEWS, scene.seat("pm"), 1)


def _delivery(scene: Scene, message: MessageView) -> dict[str, Delivery]:
    return posted_message(scene.team, scene.channel(), message).delivery


def test_a_message_is_accepted_then_delivered_then_read_by_each_but_its_speaker() -> None:
    scene = trio()
    scene.says("pm")
    [message] = (message_view(decode(each.data), scene.team) for each in messages(scene))
    assert _delivery(scene, message) == {"dev": Delivery.ACCEPTED, "qa": Delivery.ACCEPTED}
    scene.complete("pm")
    delivered(scene, "dev")
    assert _delivery(scene, message) == {"dev": Delivery.DELIVERED, "qa": Delivery.ACCEPTED}
    scene.complete("dev")
    assert _delivery(scene, message) == {"dev": Delivery.READ, "qa": Delivery.ACCEPTED}


def test_an_agents_own_messages_never_count_as_unread() -> None:
    scene = trio()
    scene.says("pm")
    scene.posts()
    pm, dev, qa = (scene.seat(name) for name in ("pm", "dev", "qa"))
    assert unread_of(scene.channel(), messages(scene)) == {pm: 1, dev: 2, qa: 2}
    delivered(scene, "qa")
    assert unread_of(scene.channel(), messages(scene)) == {pm: 1, dev: 2, qa: 0}


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def test_messages_are_paged_through_in_order_and_unread_ones_are_counted() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        for text in ("one", "two", "three"):
            post = c.PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")
            await dispatcher.send(post, actor=HUMAN)
        team = dispatcher.team
        channel = team.channel(DESIGN)

        first = await read_page(store, team, channel, after=0, limit=2)
        assert [each.text for each in first.messages] == ["one", "two"]
        last = first.messages[-1].seq
        assert first.next_after == last
        rest = await read_page(store, team, channel, after=last, limit=2)
        assert [each.text for each in rest.messages] == ["three"]
        assert rest.next_after is None
        assert [each.unread for each in (await read_state(store, team, channel)).members] == [3, 3]

    run(scene())


def test_a_notice_is_a_message_of_muster_and_never_counts_as_unread() -> None:
    async def scene() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await a_dispatcher(store, clock)
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        clock.advance(60)
        await dispatcher.send(c.CheckChannel(channel=DESIGN), actor=MUSTER)
        team = dispatcher.team
        channel = team.channel(DESIGN)

        [notice] = (await read_page(store, team, channel, limit=9)).messages
        assert (notice.speaker, notice.kind, notice.by_human) == ("muster", "notice", False)
        assert notice.text == "⏱️ Ada turn timed out"
        assert set(notice.delivery) == {"Ada", "Ben"}
        assert [each.unread for each in (await read_state(store, team, channel)).members] == [0, 0]

    run(scene())


def test_messages_are_paged_through_newest_first_between_two_places() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada")
        await with_channel(dispatcher, [ADA])
        for text in ("one", "two", "three"):
            post = c.PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")
            await dispatcher.send(post, actor=HUMAN)
        team = dispatcher.team
        channel = team.channel(DESIGN)

        newest = await read_page(store, team, channel, limit=2, newest_first=True)
        assert [each.text for each in newest.messages] == ["three", "two"]
        assert (newest.next_after, newest.next_before) == (None, newest.messages[-1].seq)
        before = newest.next_before
        rest = await read_page(store, team, channel, before=before, limit=2, newest_first=True)
        assert ([each.text for each in rest.messages], rest.next_before) == (["one"], None)
        until = await read_page(store, team, channel, before=before, limit=2)
        assert [each.text for each in until.messages] == ["one"]

    run(scene())


def test_a_reply_shows_the_start_of_the_message_that_it_answers() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada")
        await with_channel(dispatcher, [ADA])
        post = c.PostMessage(channel=DESIGN, text=f"so\n{'x' * 500}", speaker_name="Marcus")
        asked = (await dispatcher.send(post, actor=HUMAN)).events[0].seq
        speak = c.Speak(channel=DESIGN, seat=ADA, text="yes", reply_to=asked)
        await dispatcher.send(speak, actor=HUMAN)
        team = dispatcher.team

        first, reply = (await read_page(store, team, team.channel(DESIGN), limit=9)).messages
        assert (first.quoted, reply.reply_to) == (None, asked)
        assert reply.quoted is not None
        assert (reply.quoted.seq, reply.quoted.speaker) == (asked, "Marcus")
        assert reply.quoted.text == f"so {'x' * 116}…"

    run(scene())


def test_a_channel_without_members_or_messages_has_nothing_unread() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada")
        await with_channel(dispatcher, [])
        empty = await read_state(store, dispatcher.team, dispatcher.team.channel(DESIGN))
        assert empty.members == ()
        await dispatcher.send(c.AddMember(channel=DESIGN, seat=SeatId(ADA)), actor=HUMAN)
        silent = await read_state(store, dispatcher.team, dispatcher.team.channel(DESIGN))
        assert [each.unread for each in silent.members] == [0]

    run(scene())
