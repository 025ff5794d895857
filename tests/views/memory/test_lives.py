"""The sessions that an agent remembers after an import: each of them once, in order of time."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines.documents import Handover, MessageCopy
from muster.machines.identity.wake_words import handed_over as in_words
from muster.views.memory.wake_payload import handed_over
from tests.builders import ADA, run
from tests.machines.teams.papers import said
from tests.sessions.test_intake import Stage, staged
from tests.views.memory.test_digest import live, memory, says

MINUTE = timedelta(minutes=1)
FAR = datetime(2099, 1, 1, tzinfo=UTC)


def elsewhere(text: str, at: datetime, *, life: str = "laptop", number: int = 1) -> MessageCopy:
    """A message to Ada on another machine."""
    copy = said(number, text, life, ADA)
    return replace(copy, target_agent="Ada", created_at=at)


async def lived(stage: Stage, text: str) -> None:
    """A session of Ada here, a minute after what was before."""
    stage.clock.advance(MINUTE.total_seconds())
    await live(stage, text, says(f"heard {text}"))


async def imported(stage: Stage, *messages: MessageCopy) -> None:
    stage.clock.advance(MINUTE.total_seconds())
    await stage.send(c.ImportTeam(messages=messages))


async def remembered(stage: Stage, handover: Handover = Handover.ALL) -> tuple[list[str], str, int]:
    """The first words of each earlier session, those of the transcript, and the omitted count."""
    payload = await memory(stage, handover)
    earlier = [each.first.partition(": ")[2] for each in payload.earlier]
    first = payload.transcript.partition("\n")[0].partition(": ")[2]
    return earlier, first, payload.earlier_omitted


def test_every_session_here_and_elsewhere_is_remembered_once_in_order_of_time() -> None:
    """After an import, the newest session of the other machine or of this one was missing."""

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await lived(stage, "DESK-1")
            between = stage.clock.now() + MINUTE / 2
            await lived(stage, "DESK-2")
            stage.clock.advance(MINUTE.total_seconds())
            newest = elsewhere("LAPTOP-1", stage.clock.now())
            older = elsewhere("LAPTOP-0", between, life="train")
            await imported(stage, newest, older)
            assert await remembered(stage) == (["DESK-1", "LAPTOP-0", "DESK-2"], "LAPTOP-1", 0)
            every = ["DESK-1", "LAPTOP-0", "DESK-2", "LAPTOP-1"]
            assert await remembered(stage, Handover.DIGEST) == (every, "", 0)
            assert await remembered(stage, Handover.LAST) == ([], "LAPTOP-1", 0)
            assert await remembered(stage, Handover.NONE) == ([], "", 0)
            await lived(stage, "DESK-3")
            assert await remembered(stage) == (every, "DESK-3", 0)
            words = in_words(handed_over(await memory(stage)))
            assert words.endswith("2 of 2 messages, a digest of 4 earlier sessions")

    run(story())


def test_a_machine_without_words_of_its_own_remembers_every_imported_session() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            start = stage.clock.now()
            stage.clock.advance(3600)
            desk = [
                elsewhere(f"DESK-{each}", start + each * MINUTE, life=f"desk-{each}")
                for each in (3, 1, 2)
            ]
            more = elsewhere("more of DESK-1", start + MINUTE, life="desk-1", number=2)
            await imported(stage, *desk, more)
            assert await remembered(stage) == (["DESK-1", "DESK-2"], "DESK-3", 0)
            first, _ = (await memory(stage)).earlier
            assert (first.messages, first.last) == (2, "[Marcus]: more of DESK-1")
            assert first.files == ()

    run(story())


def test_the_bound_of_the_digest_counts_imported_sessions_too() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await lived(stage, "DESK-1")
            start = stage.clock.now()
            stage.clock.advance(3600)
            copies = [
                elsewhere(f"LAPTOP-{each}", start + each * MINUTE, life=f"laptop-{each}")
                for each in range(1, 31)
            ]
            await imported(stage, *copies)
            earlier, last, omitted = await remembered(stage)
            assert earlier == [f"LAPTOP-{each}" for each in range(6, 30)]
            assert (last, omitted) == ("LAPTOP-30", 6)

    run(story())


def test_an_imported_date_of_the_future_does_not_stand_before_what_is_said_here_later() -> None:
    """A message of the year 2099 was the last session of its agent for good."""

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await lived(stage, "DESK-1")
            await imported(stage, elsewhere("LAPTOP-1", FAR))
            assert await remembered(stage) == (["DESK-1"], "LAPTOP-1", 0)
            await lived(stage, "DESK-2")
            assert await remembered(stage) == (["DESK-1", "LAPTOP-1"], "DESK-2", 0)
            stage.clock.advance(MINUTE.total_seconds())
            later = elsewhere("TRAIN-1", stage.clock.now(), life="train")
            await imported(stage, later)
            assert await remembered(stage) == (["DESK-1", "LAPTOP-1", "DESK-2"], "TRAIN-1", 0)

    run(story())
