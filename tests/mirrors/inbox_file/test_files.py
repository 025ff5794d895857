"""Inbox files: what is said to an agent on files reaches it once, and so do its answers."""

import asyncio
import fcntl
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.errors import StoreFailed
from muster.machines.commands import (
    DeliverMessages,
    EnrollAgent,
    ImportTeam,
    RegisterAgent,
    RenameAgent,
    ReportStatus,
    SendMessage,
    SummonAgents,
    TellHuman,
)
from muster.machines.events import AgentMessage, MessagesDelivered, UserMessage, WarningLogged
from muster.machines.ids import LEAD_SEAT, MUSTER, SeatId, agent_actor
from muster.machines.state import Agent
from muster.machines.vocabulary import Authority, Placeholder, Profile
from muster.mirrors.inbox_file import link
from muster.mirrors.inbox_file.files import InboxFiles
from muster.settings.model import TeamSettings
from muster.store.memory import MemoryStore
from tests.builders import HUMAN, a_dispatcher, a_feed, eventually, logged, run, seat_of
from tests.machines.teams.papers import paper
from tests.waits import WAIT_SECONDS, until_async

Json = dict[str, Any]  # whatever JSON can hold

IN_PLACE = """
import json, sys, time
from pathlib import Path

path, rounds = Path(sys.argv[1]), int(sys.argv[2])
for number in range(rounds):
    try:
        items = json.loads(path.read_bytes())
    except (OSError, ValueError):
        continue
    time.sleep(0.002)
    items.append({"from": "Ben", "text": f"in place {number}", "timestamp": str(number)})
    path.write_bytes(json.dumps(items).encode())
    time.sleep(0.01)
"""


class Desk:
    """A team with agents on files, and somebody who writes those files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryStore()
        self.clock = SystemClock()
        self.boots = 0
        self.dispatcher: Dispatcher

    async def prepare(self, *names: str, authority: Authority = Authority.FILE) -> None:
        await self.boot()
        for name in names:
            enrol = EnrollAgent(name=name, authority=authority)
            await self.dispatcher.send(enrol, actor=HUMAN)

    async def boot(self) -> None:
        """Start muster, the first time or again."""
        if self.boots:
            self.store = self.store.reopened()
        self.boots += 1
        self.dispatcher = await a_dispatcher(self.store, self.clock, f"boot-{self.boots}")

    async def with_lead(self) -> None:
        enrol = EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT)
        await self.dispatcher.send(enrol, actor=HUMAN)

    @asynccontextmanager
    async def followed(self) -> AsyncGenerator[InboxFiles]:
        feed = a_feed(self.store, self.dispatcher)
        found = InboxFiles(self.dispatcher, self.store, self.clock, self.folder, feed)
        async with background() as tasks:
            tasks.create_task(found.run())
            yield found
        await found.close()

    def agent(self, name: str) -> Agent:
        return self.dispatcher.team.agents[seat_of(self.dispatcher.team, name)]

    async def say(self, name: str, text: str) -> int:
        seat = seat_of(self.dispatcher.team, name)
        said = SendMessage(text=text, speaker_name="Marcus", seat=seat)
        return (await self.dispatcher.send(said, actor=HUMAN)).seq

    # ── the files ─────────────────────────────────────────────────────────────────────────────────

    def path(self, name: str) -> Path:
        return self.folder / f"{name.lower()}.json"

    def items(self, name: str) -> list[Json]:
        try:
            return cast("list[Json]", json.loads(self.path(name).read_bytes()))
        except (OSError, ValueError):
            return []

    def texts(self, name: str) -> list[str]:
        return [item["text"] for item in self.items(name)]

    def write(self, name: str, items: object) -> None:
        """Write as a careful program does."""
        self.folder.mkdir(exist_ok=True)
        aside = self.folder / "person.tmp"
        aside.write_bytes(json.dumps(items).encode())
        aside.replace(self.path(name))

    def answer(self, sender: str, text: str, at: str = "2025-10-15T22:39:14.372Z") -> None:
        entry = {"from": sender, "text": text, "timestamp": at, "read": False}
        self.write("marcus", [*self.items("marcus"), entry])

    async def until(self, condition: Callable[[], object]) -> None:
        await eventually(condition)

    async def until_made(self) -> None:
        await self.until(self.path("marcus").exists)

    async def until_marked(self, count: int) -> None:
        await self.until(
            lambda: [each.get("read") for each in self.items("marcus")] == [True] * count
        )

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    async def told(self) -> list[tuple[str, str]]:
        facts = [event.fact for event in await logged(self.store, AgentMessage)]
        return [(f.agent_name, f.content[0].text) for f in facts if isinstance(f, AgentMessage)]

    async def to_lead(self) -> list[str]:
        facts = [event.fact for event in await logged(self.store, UserMessage)]
        return [f.text for f in facts if isinstance(f, UserMessage) and f.seat == LEAD_SEAT]

    async def warnings(self) -> list[str]:
        facts = [event.fact for event in await logged(self.store, WarningLogged)]
        return [fact.text for fact in facts if isinstance(fact, WarningLogged)]


def in_place(path: Path) -> subprocess.Popen[bytes]:
    """A process that reads, changes and writes sixty times, and knows no lock."""
    return subprocess.Popen([sys.executable, "-c", IN_PLACE, str(path), "60"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "inboxes")


# ── to an agent ───────────────────────────────────────────────────────────────────────────────────


def test_a_message_is_written_then_delivered_and_read_when_it_is_marked(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            seq = await desk.say("Lyra", "h" * 100)
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
            (event,) = await logged(desk.store, UserMessage)
            stamp = event.ts.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            assert desk.items("Lyra") == [
                {
                    "from": "Marcus",
                    "text": "h" * 100,
                    "summary": "h" * 80,
                    "timestamp": stamp,
                    "read": False,
                    "seq": seq,
                }
            ]
            assert desk.agent("Lyra").read == 0
            desk.write("lyra", [{**item, "read": True} for item in desk.items("Lyra")])
            await desk.until(lambda: desk.agent("Lyra").read == seq)

    run(story())


def test_what_is_read_goes_up_to_the_first_that_is_not_marked(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            seqs = [await desk.say("Lyra", text) for text in "abc"]
            await desk.until(lambda: desk.agent("Lyra").delivered == seqs[-1])
            first, second, third = desk.items("Lyra")
            stranger = {"from": "x", "text": "y", "seq": seqs[2], "timestamp": "", "read": True}
            desk.write("lyra", [{**first, "read": True}, second, {**third, "read": True}, stranger])
            await desk.until(lambda: desk.agent("Lyra").read == seqs[0])
            desk.write("lyra", [{**each, "read": True} for each in (first, second, third)])
            await desk.until(lambda: desk.agent("Lyra").read == seqs[2])

    run(story())


def test_only_agents_that_live_on_files_have_inboxes(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Solo", authority=Authority.SELF)
        await desk.with_lead()
        async with desk.followed():
            await desk.say("Solo", "by its own connection")
            await desk.say("Julian", "by its session")
            assert not desk.folder.exists()
            led = EnrollAgent(name="Lyra", authority=Authority.LEAD)
            await desk.dispatcher.send(led, actor=HUMAN)
            await desk.until_made()
            seq = await desk.say("Lyra", "by its file")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        assert sorted(each.name for each in desk.folder.glob("[!.]*")) == [
            "lyra.json",
            "marcus.json",
        ]
        assert desk.agent("Solo").delivered == desk.agent("Julian").delivered == 0

    run(story())


def test_a_message_to_a_seat_without_a_name_waits_for_the_name(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare()
        await desk.with_lead()
        place = Placeholder(grid_position=SeatId(0), color="#fff", gender="woman")
        summon = SummonAgents(placeholders=(place,), authority=Authority.LEAD)
        await desk.dispatcher.send(summon, actor=HUMAN)
        enrol = EnrollAgent(name="Ada", authority=Authority.FILE)
        await desk.dispatcher.send(enrol, actor=HUMAN)
        early = SendMessage(text="early", speaker_name="Marcus", seat=SeatId(0))
        await desk.dispatcher.send(early, actor=HUMAN)
        async with desk.followed():
            seq = await desk.say("Ada", "later")
            await desk.until(lambda: desk.agent("Ada").delivered == seq)
            born = RegisterAgent(profile=Profile(name="Lyra", grid_position=SeatId(0)))
            await desk.dispatcher.send(born, actor=agent_actor("Julian"))
            await desk.until(lambda: desk.texts("Lyra") == ["early"])

    run(story())


def test_an_inbox_follows_the_names_that_an_import_changes(desk: Desk) -> None:
    """Defect 6: after a merge, words to Lyra-3 stood in the file that Lyra reads."""

    async def story() -> None:
        await desk.prepare()
        await desk.with_lead()
        for seat, name in ((0, "Zora"), (3, "Lyra")):
            born = RegisterAgent(profile=Profile(name=name, grid_position=SeatId(seat)))
            await desk.dispatcher.send(born, actor=HUMAN)
        await desk.dispatcher.send(ReportStatus(agents=()), actor=HUMAN)  # both sleep
        async with desk.followed():
            for name in ("Zora", "Lyra"):
                seq = await desk.say(name, f"to {name}, unread")
                await desk.until(lambda name=name, seq=seq: desk.agent(name).delivered == seq)
            older = paper(0, name="Lyra", soul="first", born=-10_000)
            await desk.dispatcher.send(ImportTeam(documents=(older,)), actor=HUMAN)
            assert desk.agent("Lyra").seat == SeatId(0)
            await desk.until(lambda: desk.texts("Lyra-3") == ["to Lyra, unread"])
            await desk.say("Lyra", "to the first")
            await desk.say("Lyra-3", "to the third")
            await desk.until(lambda: desk.texts("Lyra") == ["to the first"])
            await desk.until(lambda: desk.texts("Lyra-3") == ["to Lyra, unread", "to the third"])
            assert desk.texts("Zora") == ["to Zora, unread"]  # another agent has its seat now

    run(story())


def test_an_agent_that_is_renamed_while_it_runs_keeps_its_inbox_until_it_sleeps(desk: Desk) -> None:
    """Its program knows one name: words to it moved away unread, and its answers were dropped."""

    async def story() -> None:
        await desk.prepare()
        await desk.with_lead()
        born = RegisterAgent(profile=Profile(name="Ilse", grid_position=SeatId(0)))
        await desk.dispatcher.send(born, actor=HUMAN)
        async with desk.followed():
            seq = await desk.say("Ilse", "before")
            await desk.until(lambda: desk.agent("Ilse").delivered == seq)
            await desk.dispatcher.send(RenameAgent(seat=SeatId(0), name="Uma"), actor=HUMAN)
            after = await desk.say("Uma", "after")
            await desk.until(lambda: desk.texts("Ilse") == ["before", "after"])
            await desk.until_made()
            await desk.until(lambda: desk.agent("Uma").delivered == after)  # an answer reads it
            desk.answer("Ilse", "I hear you")
            await desk.until_marked(1)
            assert await desk.told() == [("Uma", "I hear you")]
            await desk.say("Uma", "unread")
            await desk.until(lambda: desk.texts("Ilse")[2:] == ["unread"])
            await desk.dispatcher.send(ReportStatus(agents=()), actor=HUMAN)
            await desk.until(lambda: desk.texts("Uma") == ["unread"])
            assert "unread" not in desk.texts("Ilse")

    run(story())


def test_a_locked_inbox_holds_up_no_other(desk: Desk) -> None:
    """Defect 16."""

    async def story() -> None:
        await desk.prepare("Lyra", "Kael")
        async with desk.followed():
            first = await desk.say("Lyra", "one")
            await desk.until(lambda: desk.agent("Lyra").delivered == first)
            lock = desk.folder / ".lyra.json.muster-lock"
            with lock.open("r+b") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                for number in range(5):
                    await desk.say("Lyra", str(number))
                kael = await desk.say("Kael", "free")
                await desk.until(lambda: desk.agent("Kael").delivered == kael)
                assert desk.agent("Lyra").delivered == first  # its lock is still held
            await desk.until(lambda: desk.texts("Lyra") == ["one", *"01234"])

    run(story())


def test_a_lead_on_files_is_spoken_to_by_its_inbox(desk: Desk) -> None:
    """Defect 15: teams of earlier versions may have such a lead."""

    async def story() -> None:
        await desk.prepare()
        enrol = EnrollAgent(name="Julian", authority=Authority.FILE, seat=LEAD_SEAT)
        await desk.dispatcher.send(enrol, actor=HUMAN)
        async with desk.followed():
            seq = await desk.say("Julian", "hello")
            await desk.until(lambda: desk.agent("Julian").delivered == seq)
            assert desk.texts("Julian") == ["hello"]

    run(story())


def test_the_longest_name_in_the_widest_letters_has_an_inbox(desk: Desk) -> None:
    """A file name has 255 bytes, and 64 letters may have 256."""

    async def story() -> None:
        name = "\U00020000" * 64
        await desk.prepare(name)
        async with desk.followed():
            seq = await desk.say(name, "hello")
            await desk.until(lambda: desk.agent(name).delivered == seq)
            assert await desk.warnings() == []

    run(story())


def test_a_restart_writes_what_is_missing_and_nothing_twice(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            seq = await desk.say("Lyra", "one")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        await desk.say("Lyra", "while it was down")
        await desk.boot()
        desk.write("lyra", [{**each, "read": True} for each in desk.items("Lyra")])
        async with desk.followed():
            await desk.until(lambda: desk.texts("Lyra") == ["one", "while it was down"])
            await desk.until(lambda: desk.agent("Lyra").read == seq)

    run(story())


def test_what_was_written_before_a_crash_is_recognised_and_only_recorded(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        before = desk.store.reopened()
        async with desk.followed():
            seq = await desk.say("Lyra", "one")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        stored = [each for each in await desk.store.read(after=0, limit=100) if each.seq <= seq]
        before._log.events, before._last_seq = stored, seq  # pyright: ignore[reportPrivateUsage]
        desk.store = before  # the log as it was between the two
        await desk.boot()
        assert desk.agent("Lyra").delivered == 0
        async with desk.followed():
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        assert desk.texts("Lyra") == ["one"]

    run(story())


def test_an_entry_of_another_log_with_the_same_number_is_in_nobodys_way(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        old = [
            {"from": "x", "text": "old", "seq": seq, "timestamp": "2020-01-01", "read": True}
            for seq in range(1, 30)
        ]
        desk.write("lyra", old)
        async with desk.followed():
            seq = await desk.say("Lyra", "new")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
            assert desk.texts("Lyra")[-1] == "new"
        assert desk.agent("Lyra").read == 0

    run(story())


def test_what_the_agent_was_handed_otherwise_is_not_written(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        seq = await desk.say("Lyra", "handed")
        handed = DeliverMessages(seat=desk.agent("Lyra").seat, upto=seq)
        await desk.dispatcher.send(handed, actor=MUSTER)
        async with desk.followed():
            second = await desk.say("Lyra", "new")
            await desk.until(lambda: desk.agent("Lyra").delivered == second)
        assert desk.texts("Lyra") == ["new"]

    run(story())


def test_what_somebody_overwrites_unread_is_written_again(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            seq = await desk.say("Lyra", "one")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
            theirs = {"from": "Ben", "text": "mine", "color": "blue"}
            desk.path("Lyra").write_bytes(json.dumps([theirs]).encode())
            await desk.until(lambda: desk.texts("Lyra") == ["mine", "one"])
            assert desk.items("Lyra")[0] == theirs
        assert len(await logged(desk.store, MessagesDelivered)) == 1

    run(story())


def test_a_process_that_writes_in_place_makes_nobody_lose_a_message(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        desk.write("lyra", [])
        async with desk.followed():
            writer = in_place(desk.path("Lyra"))
            await desk.until(lambda: desk.texts("Lyra"))
            wanted = [f"ours {number}" for number in range(10)]
            for text in wanted:
                await desk.say("Lyra", text)
                await asyncio.sleep(0)
            assert await asyncio.to_thread(writer.wait, WAIT_SECONDS) == 0
            await desk.until(lambda: set(wanted) <= set(desk.texts("Lyra")))
            ours = [text for text in desk.texts("Lyra") if text in wanted]
        assert sorted(ours) == sorted(wanted)  # none twice

    run(story())


# ── to the human ──────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_told_once_and_marked(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            await desk.until_made()
            assert desk.items("marcus") == []
            desk.answer("lyra", "hello", at="2025-10-15T22:00:00Z")
            await desk.until_marked(1)
            desk.answer("Lyra", "hello", at="2025-10-15T22:00:01Z")
            await desk.until_marked(2)
        (first, second) = await logged(desk.store, AgentMessage)
        assert first.actor == second.actor == agent_actor("Lyra")
        assert await desk.told() == [("Lyra", "hello"), ("Lyra", "hello")]

    run(story())


def test_marks_that_are_taken_back_and_entries_that_come_twice_tell_nothing(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            await desk.until_made()
            desk.answer("Lyra", "hello")
            await desk.until_marked(1)
            unmarked = [{**each, "read": False} for each in desk.items("marcus")]
            desk.path("marcus").write_bytes(json.dumps(unmarked * 2).encode())
            await desk.until_marked(2)
        assert await desk.told() == [("Lyra", "hello")]

    run(story())


def test_an_answer_that_was_told_before_a_crash_is_only_marked(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        stamp = desk.clock.now().isoformat()
        for _ in range(2):  # the same words, told twice before the crash
            tell = TellHuman(seat=desk.agent("Lyra").seat, text="ok")
            await desk.dispatcher.send(tell, actor=agent_actor("Lyra"))
        marked = {"from": "Lyra", "text": "ok", "timestamp": stamp, "read": True}
        told = {"from": "Lyra", "text": "ok", "timestamp": stamp, "read": False, "n": 2}
        new = {"from": "Lyra", "text": "ok", "timestamp": stamp, "read": False, "n": 3}
        desk.write("marcus", [marked, told, new])
        await desk.boot()
        async with desk.followed():
            await desk.until_marked(3)
        assert await desk.told() == [("Lyra", "ok")] * 3

    run(story())


def test_half_of_a_character_in_an_answer_holds_up_no_other(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            await desk.until_made()
            desk.answer("Lyra", "so \ud800", at="2025-10-15T22:00:00Z")
            desk.answer("Lyra", "and on", at="2025-10-15T22:00:01Z")
            await desk.until_marked(2)
        unmarked = [{**each, "read": False} for each in desk.items("marcus")]
        desk.path("marcus").write_bytes(json.dumps(unmarked).encode())
        await desk.boot()
        async with desk.followed():
            await desk.until_marked(2)
        assert await desk.told() == [("Lyra", "so ?"), ("Lyra", "and on")]

    run(story())


def test_answers_that_came_while_muster_was_down_are_told(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        desk.answer("Lyra", "early")
        async with desk.followed():
            await desk.until_marked(1)
        assert await desk.told() == [("Lyra", "early")]

    run(story())


def test_nobody_is_believed_to_be_somebody_who_does_not_live_on_files(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        await desk.with_lead()
        enrol = EnrollAgent(name="Solo", authority=Authority.SELF)
        await desk.dispatcher.send(enrol, actor=HUMAN)
        async with desk.followed():
            await desk.until_made()
            strangers = ("Julian", "Solo", "Nobody", "Marcus", "x" * 10_000)
            entries = [{"from": name, "text": f"I am {name}"} for name in strangers]
            desk.write("marcus", [*entries, {"text": "no name"}, {"from": "Lyra"}])
            await desk.until_marked(7)
            desk.answer("Lyra", "")
            await desk.until_marked(8)
        assert await desk.told() == []
        warnings = await desk.warnings()
        assert len(warnings) == 8
        assert "'Julian' is nobody who speaks by an inbox" in warnings[0]
        assert "a reply of 'Lyra' is left: the message is empty" in warnings[7]
        assert max(map(len, warnings)) < 500

    run(story())


def test_a_malformed_inbox_of_the_human_is_kept_aside_and_said(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            await desk.until_made()
            desk.path("marcus").write_bytes(b"{ half")
            kept = desk.folder / "marcus.json.malformed-1"
            await desk.until(lambda: kept.exists() and desk.path("marcus").exists())
            desk.answer("Lyra", "hello")
            await desk.until_marked(1)
            desk.path("marcus").unlink()
            await desk.until_made()
        assert kept.read_bytes() == b"{ half"
        (warning,) = await desk.warnings()
        assert "marcus.json.malformed-1" in warning

    run(story())


def test_a_process_that_answers_in_place_is_heard_in_all_that_it_keeps(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Ben")
        async with desk.followed():
            await desk.until_made()
            writer = in_place(desk.path("marcus"))
            assert await asyncio.to_thread(writer.wait, WAIT_SECONDS) == 0
            await desk.until(lambda: all(each.get("read") for each in desk.items("marcus")))
            kept = desk.texts("marcus")
        told = [text for _, text in await desk.told()]
        assert len(told) == len(set(told))
        assert set(kept) <= set(told)
        assert "in place 59" in told

    run(story())


# ── trouble ───────────────────────────────────────────────────────────────────────────────────────


def test_where_a_file_is_broken_the_lead_hands_messages_on(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra", "Ben")
        await desk.with_lead()
        desk.path("Lyra").mkdir(parents=True)
        async with desk.followed():
            await desk.say("Lyra", "one")
            seq = await desk.say("Lyra", "two")
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
            other = await desk.say("Ben", "hello")
            await desk.until(lambda: desk.agent("Ben").delivered == other)
            desk.path("Lyra").rmdir()
            third = await desk.say("Lyra", "three")
            await desk.until(lambda: desk.agent("Lyra").delivered == third)
        assert await desk.to_lead() == [f"[ROUTE TO AGENT: Lyra]\n{n}" for n in ("one", "two")]
        assert desk.texts("Lyra") == ["three"]
        (warning,) = await desk.warnings()
        assert "lyra.json" in warning

    run(story())


def test_where_the_folder_cannot_be_made_the_lead_is_asked_and_it_is_said_once(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        await desk.with_lead()
        desk.folder.write_bytes(b"a file")
        async with desk.followed():
            for text in "ab":
                seq = await desk.say("Lyra", text)
                await desk.until(lambda seq=seq: desk.agent("Lyra").delivered == seq)
            desk.folder.unlink()
            await desk.until_made()
        assert len(await desk.to_lead()) == 2
        assert len([each for each in await desk.warnings() if "lyra.json" in each]) == 1
        assert len([each for each in await desk.warnings() if "marcus.json" in each]) == 1

    run(story())


def test_a_message_that_was_routed_before_a_crash_is_not_routed_again(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        await desk.with_lead()
        desk.path("Lyra").mkdir(parents=True)
        seq = await desk.say("Lyra", "one")
        routed = SendMessage(text="routed", speaker_name="Marcus")
        await desk.dispatcher.send(routed, actor=HUMAN, key=f"inboxes-{seq}")
        async with desk.followed():
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        assert await desk.to_lead() == ["routed"]

    run(story())


def test_a_lock_that_is_held_is_waited_for_and_then_counts_as_broken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        await desk.with_lead()
        desk.write("lyra", [])
        async with desk.followed():
            with (desk.folder / ".lyra.json.muster-lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                seq = await desk.say("Lyra", "one")
                await asyncio.sleep(0)
            await desk.until(lambda: desk.agent("Lyra").delivered == seq)
            assert desk.texts("Lyra") == ["one"]
            monkeypatch.setattr(link, "FILE_LOCK_SECONDS", 0.05)
            with (desk.folder / ".lyra.json.muster-lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                seq = await desk.say("Lyra", "two")
                await desk.until(lambda: desk.agent("Lyra").delivered == seq)
        assert desk.texts("Lyra") == ["one"]
        assert await desk.to_lead() == ["[ROUTE TO AGENT: Lyra]\ntwo"]

    run(story())


def test_an_inbox_that_cannot_be_marked_is_told_once_all_the_same(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        desk.answer("Lyra", "hello")
        (desk.folder / ".marcus.json.muster-lock").mkdir()
        for _ in range(2):
            async with desk.followed():
                seq = await desk.say("Lyra", "and now?")
                await desk.until(lambda seq=seq: desk.agent("Lyra").delivered == seq)
                await until_async(desk.warnings)
            await desk.boot()
        assert desk.items("marcus")[0]["read"] is False
        assert await desk.told() == [("Lyra", "hello")]

    run(story())


def test_an_answer_that_could_not_be_put_on_record_is_tried_again(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        await desk.prepare("Lyra")
        async with desk.followed():
            await desk.until_made()
            desk.store.fail_next_commit(StoreFailed(detail="disk full"))
            desk.answer("Lyra", "hello")
            await desk.until_marked(1)
        assert await desk.told() == [("Lyra", "hello")]
        assert "disk full" in caplog.text

    run(story())


def test_without_a_lead_a_message_waits_until_the_file_is_well(desk: Desk) -> None:
    async def story() -> None:
        await desk.prepare("Lyra", "Ben")
        desk.path("Lyra").mkdir(parents=True)
        async with desk.followed():
            await desk.say("Lyra", "one")
            seq = await desk.say("Ben", "hello")
            await desk.until(lambda: desk.agent("Ben").delivered == seq)
            assert desk.agent("Lyra").delivered == 0
            desk.path("Lyra").rmdir()
            await desk.until(lambda: desk.texts("Lyra") == ["one"])
        (warning,) = await desk.warnings()
        assert "there is no lead" in warning

    run(story())


def test_the_folder_is_in_the_home_unless_the_settings_name_another(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    assert TeamSettings().inboxes_beside(home) == home / "inboxes"
    assert TeamSettings(inboxes="team/in").inboxes_beside(home) == tmp_path / "team" / "in"
    assert TeamSettings(inboxes="/x/in").inboxes_beside(home) == Path("/x/in")
    assert TeamSettings(inboxes="~/in").inboxes_beside(home) == Path.home() / "in"
