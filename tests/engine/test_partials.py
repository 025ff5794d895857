"""Partial text: shown while a turn lasts, bounded in size and rate, and gone with its end."""

import pytest

from muster.engine.partials import Partial, Partials
from muster.errors import NotFound, NotYourTurn, Refused, StaleEpoch
from muster.limits import PARTIAL_CHARS_MAX, PARTIAL_SECONDS
from muster.machines.commands import (
    CompleteTurn,
    ConfigureChannel,
    PostMessage,
    Speak,
)
from muster.machines.events import Fact
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import InterruptMode, SpeakerOrder, TurnConfig
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    logged,
    run,
    settled,
    with_agents,
    with_channel,
)


class Stage:
    """A channel in which Ada has the turn and Ben is next, and a reader of partial text."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.read: list[Partial] = []

    async def open(self) -> "Stage":
        self.dispatcher = await a_dispatcher(self.store, self.clock)
        self.partials = Partials(self.dispatcher, self.clock)
        self.partials.subscribe(self.read.append)
        await with_agents(self.dispatcher, "Ada", "Ben")
        await with_channel(self.dispatcher, [ADA, BEN])
        return self

    async def send(self, command: PostMessage | Speak | CompleteTurn | ConfigureChannel) -> None:
        await self.dispatcher.send(command, actor=HUMAN)

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.read]


def test_the_newest_text_is_told_at_once_and_then_at_a_bounded_rate() -> None:
    async def story() -> None:
        stage = await Stage().open()
        for text in ("I", "I th", "I think"):
            stage.partials.put(DESIGN, ADA, text)
        assert stage.read == [Partial(channel=DESIGN, seat=ADA, agent="Ada", epoch=1, text="I")]
        stage.clock.advance(PARTIAL_SECONDS)
        await settled()
        assert stage.texts == ["I", "I think"]
        stage.partials.put(DESIGN, ADA, "I think")  # nothing new
        stage.clock.advance(PARTIAL_SECONDS)
        await settled()
        assert stage.texts == ["I", "I think"]

    run(story())


def test_only_the_end_of_a_long_text_is_kept() -> None:
    async def story() -> None:
        stage = await Stage().open()
        stage.partials.put(DESIGN, ADA, "a" + "b" * PARTIAL_CHARS_MAX)
        assert stage.texts == ["b" * PARTIAL_CHARS_MAX]

    run(story())


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (Speak(channel=DESIGN, seat=ADA, text="I think so."), ["I think", ""]),
        (CompleteTurn(channel=DESIGN, seat=ADA), ["I think", ""]),
        (PostMessage(channel=DESIGN, text="and?", speaker_name="Marcus"), ["I think"]),
    ],
)
def test_a_posted_message_and_the_end_of_the_turn_drop_the_text(
    end: Speak | CompleteTurn | PostMessage, told: list[str]
) -> None:
    async def story() -> None:
        stage = await Stage().open()
        stage.partials.put(DESIGN, ADA, "I think")
        await stage.send(end)
        assert stage.texts == told
        assert (stage.partials.latest(DESIGN) is None) == (told[-1] == "")

    run(story())


def test_a_text_that_waits_to_be_told_is_not_told_after_the_message() -> None:
    async def story() -> None:
        stage = await Stage().open()
        stage.partials.put(DESIGN, ADA, "I")
        stage.partials.put(DESIGN, ADA, "I think")
        await stage.send(Speak(channel=DESIGN, seat=ADA, text="I think so.", complete=True))
        stage.clock.advance(PARTIAL_SECONDS)
        await settled()
        assert stage.texts == ["I", ""]

    run(story())


def test_nobody_but_the_active_holder_of_this_turn_shows_text() -> None:
    async def story() -> None:
        stage = await Stage().open()

        def refused(kind: type[Refused], channel: ChannelId, seat: int, epoch: int) -> None:
            with pytest.raises(kind):
                stage.partials.put(channel, ADA if seat == ADA else BEN, "me", epoch)

        refused(NotYourTurn, DESIGN, BEN, 1)
        refused(StaleEpoch, DESIGN, ADA, 2)
        refused(NotFound, ChannelId("nowhere"), ADA, 1)
        interrupt = TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT)
        await stage.send(ConfigureChannel(channel=DESIGN, config=interrupt))
        await stage.send(PostMessage(channel=DESIGN, text="stop", speaker_name="Marcus"))
        refused(NotYourTurn, DESIGN, ADA, 1)
        assert stage.read == []

    run(story())


def test_the_answer_of_a_selector_is_not_shown() -> None:
    async def story() -> None:
        stage = await Stage().open()
        rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Ben")
        await stage.send(ConfigureChannel(channel=DESIGN, config=rules))
        await stage.send(PostMessage(channel=DESIGN, text="begin", speaker_name="Ann"))
        await stage.send(Speak(channel=DESIGN, seat=ADA, text="who?", complete=True))
        turn = stage.dispatcher.team.channels[DESIGN].turn
        assert turn is not None
        assert (turn.holder, turn.choosing) == (BEN, True)
        stage.partials.put(DESIGN, BEN, "Ad")
        assert stage.read == []

    run(story())


def test_partial_text_is_no_event_of_the_log() -> None:
    async def story() -> None:
        stage = await Stage().open()
        before = len(await logged(stage.store, Fact))
        stage.partials.put(DESIGN, ADA, "I think")
        await settled()
        assert len(await logged(stage.store, Fact)) == before

    run(story())
