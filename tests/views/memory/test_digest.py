"""The digest of earlier sessions: first and last words, marked decisions, files; all bounded."""

from collections.abc import Sequence

import pytest

from muster import limits
from muster.engine import ports
from muster.machines import commands as c
from muster.machines.documents import Handover
from muster.machines.state import Agent
from muster.machines.vocabulary import Activity, RunMode, Urgency
from muster.testing.runtime import Stops
from muster.views.answers.messages import WakePayload
from muster.views.memory.wake_payload import as_xml, handed_over, has_memory, wake_payload
from tests.builders import ADA, run
from tests.sessions.test_intake import Stage, staged
from tests.views.memory.test_wake_payload import parsed


async def live(stage: Stage, heard: str, *said: ports.SessionReport) -> None:
    """One session of Ada: a person speaks, she does and says things, and it ends."""
    session = await stage.start()
    await stage.send(c.SendMessage(text=heard, speaker_name="Marcus", seat=ADA))
    await stage.say(session, *said)
    stage.runtime.expect(Stops(seat=ADA, urgency=Urgency.GRACEFUL))
    await stage.send(c.SetDesired(seat=ADA, desired=RunMode.PAUSE, set_by="Marcus"))


def says(text: str) -> ports.AgentText:
    return ports.AgentText(text=text)


def wrote(
    path: str, ref: str, *, name: str = "Write", done: bool = True
) -> Sequence[ports.SessionReport]:
    end = Activity.TOOL_DONE if done else Activity.TOOL_FAILED
    text = f'{{"file_path":"{path}","content":"x'  # the log has an excerpt
    return (
        ports.SessionActivity(kind=Activity.TOOL_CALL, name=name, text=text, ref=ref),
        ports.SessionActivity(kind=end, name=name, text="", ref=ref),
    )


async def memory(stage: Stage, handover: Handover = Handover.ALL) -> WakePayload:
    team = stage.muster.team
    return await wake_payload(stage.muster.store, team, team.agents[ADA], handover=handover)


def test_hostile_words_and_paths_hold_no_wake_up() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            blank = "\n" * 300_000  # hours, if each line looked at all that follow
            path = wrote("\\ud800.py", "1")
            await live(stage, "hello", says(f"{blank}Decision: go on"), *path, says("so be it"))
            await live(stage, "the last one", says("yes"))
            [first] = (await memory(stage)).earlier
            assert (first.decisions, first.files) == (("go on",), ())

    run(story())


def test_each_earlier_session_has_its_words_decisions_and_files() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await live(
                stage,
                "shall we begin?",
                says("I think so.\n**Decision:** use SQLite\n- decision: ship <Friday>"),
                *wrote("src/a.py", "1"),
                *wrote("src/a.py", "2", name="Edit"),
                *wrote("lost.py", "3", done=False),
                *wrote("seen.py", "4", name="Read"),
                says("Done for today."),
            )
            await live(stage, "and now?", says("A decision: is no mark in mid-line."))
            await live(stage, "the last one", says("yes"))
            payload = await memory(stage)
            first, second = payload.earlier
            assert (first.first, first.last) == (
                "[Marcus]: shall we begin?",
                "[Ada]: Done for today.",
            )
            assert first.messages == 3
            assert first.decisions == ("use SQLite", "ship <Friday>")
            assert first.files == ("src/a.py",)
            assert second.first == "[Marcus]: and now?"
            assert (second.decisions, second.files) == ((), ())
            assert payload.transcript == "[Marcus]: the last one\n[Ada]: yes"
            assert handed_over(payload).sessions == 2
            found = parsed(as_xml(payload)).find("earlier")
            assert found is not None
            assert [each.text for each in found.iter("decision")] == ["use SQLite", "ship <Friday>"]
            assert [each.get("messages") for each in found] == ["3", "2"]

    run(story())


@pytest.mark.parametrize(
    ("handover", "sessions", "transcript"),
    [
        (Handover.ALL, ["[Marcus]: one"], True),
        (Handover.DIGEST, ["[Marcus]: one", "[Marcus]: two"], False),
        (Handover.LAST, [], True),
        (Handover.NONE, [], False),
    ],
)
def test_the_setting_says_how_much_is_handed_over(
    handover: Handover, sessions: list[str], transcript: bool
) -> None:
    def chosen(agent: Agent) -> Handover:
        return handover

    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            await live(stage, "one", says("I"))
            await live(stage, "two", says("II"))
            await stage.send(c.SendMessage(text="new", speaker_name="Marcus", seat=ADA))
            payload = await memory(stage, handover)
            assert [each.first for each in payload.earlier] == sessions
            assert payload.has_transcript is transcript
            assert "new" not in as_xml(payload)  # it comes as a new message
            assert has_memory(payload) is (handover is not Handover.NONE)
            stage.muster.prompter.handover = chosen
            told = await stage.muster.prompter.memory(stage.muster.team.agents[ADA])
            assert ("[Marcus]: one" in "".join(told)) is (len(sessions) > 0)

    run(story())


def test_a_digest_is_bounded_and_keeps_the_newest_sessions() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            lives = limits.DIGEST_SESSIONS_MAX + 3
            for number in range(lives):
                decisions = "\n".join(
                    f"Decision: {number}.{each} " + "&" * 400 for each in range(20)
                )
                await live(stage, f"{number} " + "\u4e2d" * 1000, says(decisions))
            await live(stage, "the last one", says("yes"))
            payload = await memory(stage)
            assert payload.earlier_omitted + len(payload.earlier) == lives
            newest = payload.earlier[-1]
            assert newest.first.startswith(f"[Marcus]: {lives - 1} ")
            assert len(newest.first) == limits.DIGEST_WORDS_CHARS_MAX
            assert len(newest.decisions) == limits.DIGEST_ITEMS_MAX
            assert newest.decisions[-1].startswith(f"{lives - 1}.19 ")
            words = [
                text
                for each in payload.earlier
                for text in (each.first, each.last, *each.decisions)
            ]
            assert sum(len(text.encode()) for text in words) <= limits.DIGEST_BYTES_MAX
            parsed(as_xml(payload))

    run(story())
