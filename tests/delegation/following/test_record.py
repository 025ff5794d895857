"""Conversations that another program leads: opened, handed over, run in parallel, and closed."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.delegation.assignments import DESCRIPTION_CHARS
from muster.delegation.following import owner
from muster.delegation.following.notes import FOLDER, Notes, NotesStore, PendingTask, Subagent
from muster.delegation.following.owner import IsAlive, Keeper, assume_alive
from muster.delegation.following.record import Following
from muster.delegation.following.transcript import TranscriptStep
from muster.delegation.visiting import is_keeper_alive, keeper_of
from muster.engine.ports import Clock
from muster.engine.system import SystemClock
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ConversationId, person
from muster.machines.vocabulary import DelegationMode, FileChange, Remark
from muster.permissions.judge import DENY, Verdict
from muster.views.conversations import ConversationView
from tests.builders import run
from tests.delegation.stage import AGENTS, DOCS, EITHER, MARCUS, PYTHON, Stage, agent_file

ENGINEER = "python-engineer"
WRITER = "docs-writer"
OURS = Keeper("one", os.getpid(), "now")
OTHERS = Keeper("two", os.getpid(), "now")
ONE, TWO, THREE = (ConversationId(f"conv_00{number}") for number in (1, 2, 3))


class Followed(Stage):
    """A session whose conversations are recorded from hooks."""

    def __init__(
        self, base: Path, clock: Clock | None = None, is_alive: IsAlive = assume_alive
    ) -> None:
        super().__init__(base, program="", clock=clock, is_alive=is_alive)
        self.following = Following(self.conversations, home=self.log_provider.home)

    async def hear(self, text: str = PYTHON, keeper: Keeper = OURS) -> str:
        return await self.following.open(text, keeper, MARCUS)

    async def work(
        self, agent: str = ENGINEER, subagent: str = "a1", *, by: str = "", keeper: Keeper = OURS
    ) -> str:
        """Set a task, and start its subagent."""
        await self.following.tasked(keeper, by, agent, f"a task for {agent}")
        return await self.following.started(keeper, agent, subagent)

    async def stop(
        self, subagent: str = "a1", agent: str = ENGINEER, report: str = "Built."
    ) -> None:
        await self.following.stopped(OURS, subagent, agent, report)

    async def answer(self, *working: str, answer: str = "Done.", keeper: Keeper = OURS) -> None:
        await self.following.closed(keeper, answer, working)

    async def views(self) -> dict[ConversationId, ConversationView]:
        return await self.conversations.views()

    async def view(self, conversation: ConversationId = ONE) -> ConversationView:
        return (await self.views())[conversation]

    async def remarks(self, kind: Remark) -> list[str]:
        facts = await self.facts(e.DialogueRecorded)
        return [
            each.text
            for each in facts
            if isinstance(each, e.DialogueRecorded) and each.kind is kind
        ]

    def outputs(self, conversation: str = ONE) -> Path:
        return self.root / "conversations" / conversation / "outputs"

    def notes(self, keeper: Keeper = OURS) -> Notes:
        return NotesStore(self.log_provider.home).read(keeper.session)


def started_program() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def steps(view: ConversationView) -> list[tuple[str, str]]:
    return [(step.source, step.target) for step in view.trace]


def test_the_answer_is_recorded_after_the_steps_of_main(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        thought = TranscriptStep(Remark.THINKING, "It is easy.")
        await stage.following.closed(OURS, "Done.", (), steps=[thought])
        assert await stage.remarks(Remark.THINKING) == ["It is easy."]
        assert await stage.remarks(Remark.ANSWER) == ["Done."]

    run(play())


# ── the agent for an input ────────────────────────────────────────────────────────────────────────


def test_main_chooses_where_the_router_is_unsure_from_candidates_with_descriptions(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        told = await stage.hear(EITHER)
        assert "Which agent this request is for is not clear. Choose" in told
        assert f"\n  - docs-writer: {AGENTS['docs-writer']}" in told
        assert f"\n  - python-engineer: {AGENTS['python-engineer']}" in told
        await stage.work("docs-writer")
        [routed] = await stage.facts(e.Routed)
        assert isinstance(routed, e.Routed)
        assert routed.ambiguous  # the opinion of the router, next to the transition of MAIN
        assert steps(await stage.view()) == [("MAIN", "docs-writer")]

    run(play())


def test_main_is_given_no_candidates_where_the_router_is_sure_or_has_none(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        assert "  - " not in await stage.hear(PYTHON)
        assert "The closest" not in await stage.hear("Knit a sweater")

    run(play())


def test_a_long_description_of_a_candidate_is_clipped(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        long = f"{AGENTS['docs-writer']} {'Really. ' * 60}"
        agent_file(stage.base / "agents", "docs-writer", long)
        told = await stage.hear(EITHER)
        [line] = [each for each in told.split("\n") if each.startswith("  - docs-writer: ")]
        assert line.endswith("…")
        assert len(line) == len("  - docs-writer: ") + DESCRIPTION_CHARS

    run(play())


# ── one after the other ───────────────────────────────────────────────────────────────────────────


def test_a_subagent_takes_the_conversation_over_and_main_closes_it(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        told = await stage.work()
        assert f"{stage.outputs()}/" in told
        assert str(stage.root / "conversations/conv_001/dialogue.md") in told
        (stage.outputs() / "hello.py").write_text("x")
        await stage.stop()
        await stage.answer()
        view = await stage.view()
        assert steps(view) == [("MAIN", ENGINEER), (ENGINEER, "MAIN")]
        assert (view.outcome, view.answer) == ("answered", "Done.")
        [file] = view.files
        assert (file.path, file.by, file.outside) == ("hello.py", ENGINEER, False)
        assert (file.size, file.sha256) == (1, hashlib.sha256(b"x").hexdigest())
        assert view.trace[0].reason == f"a task for {ENGINEER}"
        assert await stage.is_up_to_date()
        assert stage.notes() == Notes()
        assert not list((stage.log_provider.home / FOLDER).iterdir())

    run(play())


def test_text_that_a_subagent_adds_to_the_dialogue_is_recorded(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        with (stage.root / "conversations/conv_001/dialogue.md").open("a") as file:
            file.write("I thought of \x1b[31mgreen\n")
        await stage.stop()
        assert await stage.remarks(Remark.THINKING) == ["I thought of \x1b[31mgreen"]
        text = stage.read("conversations/conv_001/dialogue.md")
        assert text.count("I thought of") == 1
        assert await stage.is_up_to_date()

    run(play())


def test_an_input_closes_the_open_conversations_of_its_keeper_with_the_reason(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.hear(DOCS)
        view = await stage.view()
        assert (view.outcome, view.state) == ("failed", "MAIN")
        assert view.summary == "the next input came before it was answered"
        assert (await stage.view(TWO)).outcome is None
        await stage.stop(report="Too late.")
        late = f"{ENGINEER}, which worked for conv_001, reports:\nToo late."
        assert await stage.remarks(Remark.NOTE) == [late]

    run(play())


def test_nothing_happens_where_no_session_is_open(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.end()
        assert await stage.hear() == ""
        assert await stage.work() == ""
        await stage.stop()
        await stage.answer()
        await stage.following.left(OURS, "ended")
        await stage.following.wrote(OURS, "", tmp_path / "x", project=tmp_path, created=True)
        verdict = Verdict(DENY, "main.write", "No.")
        assert await stage.following.denied(OURS, "", verdict) is None
        assert await stage.following.state() == ""
        assert list(await stage.views()) == [ONE]

    run(play())


def test_a_subagent_that_is_no_agent_of_the_session_is_noted_and_changes_no_state(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        told = await stage.work("Explore")
        assert f"{stage.outputs()}/" in told
        assert "dialogue.md" not in told
        (stage.outputs() / "map.txt").write_text("x")
        await stage.stop(agent="Explore", report="I looked.")
        await stage.answer()
        view = await stage.view()
        assert (view.trace, view.outcome) == ((), "answered")
        assert [file.path for file in view.files] == ["map.txt"]
        assert await stage.remarks(Remark.NOTE) == [
            "Explore was started, which is no agent of this session: a task for Explore",
            "Explore reports:\nI looked.",
        ]

    run(play())


def test_a_subagent_without_a_conversation_has_one_of_its_own(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.work()
        await stage.stop()
        view = await stage.view()
        assert (view.text, view.outcome) == (f"{ENGINEER}: a task for {ENGINEER}", "answered")
        assert await stage.work("Explore", "a2") == ""
        assert len(await stage.views()) == 1

    run(play())


def test_a_subagent_whose_start_was_not_recorded_is_identified_by_its_name(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        NotesStore(stage.log_provider.home).write(OURS.session, Notes())
        await stage.stop()
        assert steps(await stage.view()) == [("MAIN", ENGINEER), (ENGINEER, "MAIN")]

    run(play())


def test_a_subagent_without_a_report_is_recorded_as_failed_when_main_answers(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.answer(answer="")
        view = await stage.view()
        assert view.trace[-1].reason == "agent failed: it ended without a report"
        assert (view.outcome, view.answer) == ("answered", "(nothing was said)")

    run(play())


def test_a_start_that_is_reported_twice_counts_once(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        again = await stage.work(), await stage.following.started(OURS, ENGINEER, "a1")
        assert again[0] == again[1]
        assert len(await stage.views()) == 1

    run(play())


# ── side by side ──────────────────────────────────────────────────────────────────────────────────


def test_a_second_subagent_works_on_the_conversation_beside_the_first(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        told = await stage.work(WRITER, "a2")
        assert str(stage.outputs()) in told
        for name, by in (("hello.py", "a1"), ("guide.md", "a2")):
            path = stage.outputs() / name
            path.write_text("x")
            await stage.following.wrote(OURS, by, path, project=stage.project, created=True)
        await stage.stop(report="It runs.")
        assert (await stage.view()).outcome is None
        await stage.stop("a2", WRITER, "FileWritten.")
        await stage.answer()
        views = await stage.views()
        assert list(views) == [ONE]
        assert steps(views[ONE]) == [
            ("MAIN", ENGINEER),
            (ENGINEER, WRITER),
            (ENGINEER, WRITER),  # it is done, and the writer still works
            (WRITER, "MAIN"),
        ]
        assert views[ONE].outcome == "answered"
        assert {(file.path, file.by) for file in views[ONE].files} == {
            ("hello.py", ENGINEER),
            ("guide.md", WRITER),
        }
        said = stage.read("conversations/conv_001/dialogue.md")
        assert "It runs." in said
        assert "FileWritten." in said
        [line] = stage.read("conversations/messages.jsonl").splitlines()
        assert json.loads(line)["agents_used"] == [ENGINEER, WRITER]
        assert await stage.is_up_to_date()

    run(play())


def test_the_subagent_that_came_last_may_stop_first(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2")
        await stage.stop("a2", WRITER)
        assert (await stage.view()).state == ENGINEER
        await stage.stop()
        assert (await stage.view()).state == "MAIN"

    run(play())


def test_a_subagent_is_not_assigned_one_of_two_tasks_by_a_guess(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        for task in ("first", "second", "third"):
            await stage.following.tasked(OURS, "", ENGINEER, task)
        for subagent in ("a1", "a2", "a3"):
            await stage.following.started(OURS, ENGINEER, subagent)
        view = await stage.view()
        assert [step.reason.rpartition(": ")[2] for step in view.trace] == [
            "its description matches",
            "started beside the others",
            "third",
        ]

    run(play())


def test_hooks_of_parallel_subagents_arrive_at_the_same_time(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        names = [f"a{number}" for number in range(5)]
        await asyncio.gather(*(stage.work(subagent=name) for name in names))
        await asyncio.gather(*(stage.stop(name) for name in names))
        await stage.answer()
        [view] = (await stage.views()).values()
        assert view.outcome == "answered"
        assert steps(view) == [
            ("MAIN", ENGINEER),
            *[(ENGINEER, ENGINEER)] * 8,
            (ENGINEER, "MAIN"),
        ]
        assert await stage.is_up_to_date()

    run(play())


def test_two_programs_in_one_session_do_not_share_conversations(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path, clock=SystemClock())
        other = Following(stage.conversations, home=stage.log_provider.home)
        await stage.start()
        await asyncio.gather(stage.hear(), other.open(DOCS, OTHERS, MARCUS))
        views = await stage.views()
        ours = next(each for each, view in views.items() if view.text == PYTHON)
        theirs = TWO if ours == ONE else ONE
        await asyncio.gather(stage.work(), other.started(OTHERS, WRITER, "b1"))
        await other.stopped(OTHERS, "b1", WRITER, "FileWritten.")
        await other.closed(OTHERS, "Told.", ())
        assert (await stage.view(theirs)).outcome == "answered"
        assert (await stage.view(ours)).state == ENGINEER
        await stage.stop()
        await stage.answer()
        assert steps(await stage.view(ours)) == [("MAIN", ENGINEER), (ENGINEER, "MAIN")]
        assert await stage.is_up_to_date()

    run(play())


# ── in the background ─────────────────────────────────────────────────────────────────────────────


def test_a_conversation_stays_open_while_background_subagents_run(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.answer("a1", answer="It is on its way.")
        assert (await stage.view()).state == ENGINEER
        await stage.stop()
        assert (await stage.view()).outcome is None
        await stage.answer(answer="It is there.")
        view = await stage.view()
        assert (view.outcome, view.answer) == ("answered", "It is there.")
        assert await stage.remarks(Remark.ANSWER) == ["It is on its way.", "It is there."]
        assert stage.notes() == Notes()

    run(play())


def test_a_subagent_that_has_not_started_yet_keeps_the_conversation_open(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.following.tasked(OURS, "", ENGINEER, "a task")
        await stage.answer("a1")
        await stage.following.started(OURS, ENGINEER, "a1")
        assert (await stage.view()).state == ENGINEER
        await stage.stop()
        await stage.answer()
        assert (await stage.view()).outcome == "answered"

    run(play())


def test_the_next_input_does_not_close_conversations_with_background_subagents(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.answer("a1", answer="Soon.")
        await stage.hear(DOCS)
        await stage.work(WRITER, "a2")
        await stage.stop("a2", WRITER)
        await stage.answer("a1", answer="The guide is there.")
        views = await stage.views()
        assert (views[ONE].outcome, views[ONE].state) == (None, ENGINEER)
        assert (views[TWO].outcome, views[TWO].answer) == ("answered", "The guide is there.")
        await stage.stop()
        await stage.answer(answer="And the script.")
        assert (await stage.view()).summary == f"{PYTHON}: And the script."

    run(play())


def test_an_input_between_a_report_and_its_answer_closes_the_conversation_as_answered(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.answer("a1", answer="Soon.")
        await stage.stop()
        await stage.hear(DOCS)
        view = await stage.view()
        assert (view.outcome, view.summary) == ("answered", f"{PYTHON}: Soon.")

    run(play())


def test_one_answer_closes_every_conversation_without_a_running_subagent(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2")
        await stage.answer("a1", "a2", answer="Soon.")
        await stage.hear(DOCS)
        await stage.answer(answer="All is done.")
        views = await stage.views()
        assert [view.outcome for view in views.values()] == ["answered", "answered"]
        assert views[ONE].summary == f"{PYTHON}: Soon."
        assert views[ONE].state == "MAIN"
        assert views[TWO].answer == "All is done."

    run(play())


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_recorded_once_by_the_hook_or_the_snapshot(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        wrote = stage.following.wrote
        note = stage.outputs() / "note.md"
        note.write_text("one")
        await wrote(OURS, "", note, project=stage.project, created=True)
        await stage.work()
        note.write_text("three")
        await wrote(OURS, "a1", note, project=stage.project, created=False)
        await stage.stop()
        await stage.answer()
        files = (await stage.view()).files
        assert [(file.path, file.by, file.change, file.size) for file in files] == [
            ("note.md", "MAIN", FileChange.CREATED, 3),
            ("note.md", ENGINEER, FileChange.CHANGED, 5),
        ]

    run(play())


def test_files_outside_of_the_outputs_are_noted_unless_the_input_names_them(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear("Write a Python script named setup.py")
        await stage.work()
        for name in ("setup.py", "other.py"):
            (stage.project / name).write_text("x")
            path = stage.project / name
            await stage.following.wrote(OURS, "a1", path, project=stage.project, created=True)
        for kept in (stage.root / "state.jsonl", stage.project / "gone.py"):
            await stage.following.wrote(OURS, "a1", kept, project=stage.project, created=True)
        view = await stage.view()
        assert [(file.path, file.outside, file.named) for file in view.files] == [
            (f"{stage.project}/setup.py", True, True),
            (f"{stage.project}/other.py", True, False),
        ]
        other = f"{ENGINEER} wrote outside of its outputs: {stage.project}/other.py"
        assert await stage.remarks(Remark.NOTE) == [other]

    run(play())


def test_a_file_counts_as_in_the_outputs_by_any_path_that_leads_there(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        (tmp_path / "short").symlink_to(stage.outputs())
        (stage.outputs() / "a.md").write_text("x")
        path = tmp_path / "short" / "a.md"
        await stage.following.wrote(OURS, "", path, project=stage.project, created=True)
        await stage.answer()
        [file] = (await stage.view()).files
        assert (file.path, file.outside) == ("a.md", False)

    run(play())


def test_files_above_the_limit_are_counted_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.delegation.following.hook_context.FILES_RECORDED_MAX", 2)

    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        for number in range(5):
            (stage.outputs() / f"{number}.txt").write_text("x")
        await stage.stop()
        assert len((await stage.view()).files) == 2
        [note] = await stage.remarks(Remark.NOTE)
        assert note.startswith("3 more files in ")
        monkeypatch.setattr("muster.delegation.folder.file_changes.FILES_MAX", 3)
        await stage.answer()
        assert "too many files" in (await stage.remarks(Remark.NOTE))[-1]

    run(play())


def test_a_file_name_that_is_not_utf_8_is_recorded(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        odd = os.fsencode(stage.outputs()) + b"/odd-\xff.txt"
        os.close(os.open(odd, os.O_CREAT))
        await stage.stop()
        await stage.answer()
        assert [file.path for file in (await stage.view()).files] == ["odd-�.txt"]

    run(play())


# ── modes ─────────────────────────────────────────────────────────────────────────────────────────


def test_in_interactive_mode_an_agent_that_starts_another_hands_over_to_it(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.INTERACTIVE)
        assert "hands the conversation over" in await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2", by="a1")
        assert (await stage.view()).state == WRITER
        await stage.stop("a2", WRITER, "FileWritten.")
        await stage.stop()
        await stage.answer()
        view = await stage.view()
        assert steps(view) == [
            ("MAIN", ENGINEER),
            (ENGINEER, WRITER),
            (WRITER, ENGINEER),
            (ENGINEER, "MAIN"),
        ]
        assert list(await stage.views()) == [ONE]
        assert await stage.is_up_to_date()

    run(play())


def test_an_agent_that_handed_over_and_stopped_does_not_get_the_conversation_back(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.INTERACTIVE)
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2", by="a1")
        await stage.stop()
        await stage.stop("a2", WRITER, "FileWritten.")
        view = await stage.view()
        assert steps(view)[-1] == (WRITER, "MAIN")
        note = f"{ENGINEER}, which worked for conv_001, reports:\nBuilt."
        assert await stage.remarks(Remark.NOTE) == [note]

    run(play())


def test_a_loop_of_hand_overs_without_progress_returns_to_main(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.INTERACTIVE)
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2", by="a1")
        await stage.work(ENGINEER, "a3", by="a2")
        assert steps(await stage.view())[-2:] == [(WRITER, "MAIN"), ("MAIN", ENGINEER)]
        for subagent, agent in (("a3", ENGINEER), ("a2", WRITER), ("a1", ENGINEER)):
            await stage.stop(subagent, agent, f"{subagent} is done.")
        await stage.answer()
        assert {view.outcome for view in (await stage.views()).values()} == {"answered"}
        assert await stage.is_up_to_date()

    run(play())


def test_a_second_subagent_of_main_is_no_hand_over_in_interactive_mode(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.INTERACTIVE)
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2")
        assert [step.trigger for step in (await stage.view()).trace] == ["delegated", "joined"]

    run(play())


def test_an_agent_that_is_started_by_its_own_kind_works_beside_it(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.INTERACTIVE)
        await stage.hear()
        await stage.work()
        await stage.work(ENGINEER, "a2", by="a1")
        await stage.stop("a2")
        await stage.stop()
        await stage.answer()
        assert {view.outcome for view in (await stage.views()).values()} == {"answered"}

    run(play())


def test_in_orchestrator_mode_a_subagent_of_an_agent_works_beside_it(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2", by="a1")
        assert [step.trigger for step in (await stage.view()).trace] == ["delegated", "joined"]

    run(play())


def test_in_response_mode_an_input_goes_into_the_queue_and_main_is_told_so(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        told = await stage.hear()
        assert told.startswith("[State: QUEUE] [Conv: 001]\n")
        assert f"waits in the queue for {ENGINEER}" in told
        assert str(stage.root / "queue/done/001.json") in told
        assert await stage.work() == ""
        await stage.stop()
        await stage.answer()
        assert (await stage.view()).state == "QUEUE"
        assert "answered at once" in await stage.hear("Thanks!")
        assert "in response mode" in await stage.following.state()
        assert stage.notes() == Notes()

    run(play())


# ── keepers ───────────────────────────────────────────────────────────────────────────────────────


def test_the_conversations_of_a_program_that_has_ended_are_closed(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path, is_alive=is_keeper_alive)
        await stage.start()
        with started_program() as program:
            keeper = keeper_of("gone", program.pid)
            assert keeper.started
            await stage.hear(keeper=keeper)
            await stage.work(keeper=keeper)
            await stage.work(WRITER, "a2", keeper=keeper)
            await stage.conversations.recover()
            assert (await stage.view()).outcome is None
            program.kill()
            program.wait()
        await stage.conversations.recover()
        views = await stage.views()
        assert {view.outcome for view in views.values()} == {"failed"}
        assert {view.summary for view in views.values()} == {"the program that led it has ended"}
        assert (await stage.view()).trace[-1].trigger == "agent_failed"
        await stage.following.left(OURS, "it began")
        assert not list((stage.log_provider.home / FOLDER).iterdir())

    run(play())


def test_an_answer_that_began_before_an_input_does_not_answer_it(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.following.open(PYTHON, OURS, MARCUS, began=7.5)
        await stage.following.closed(OURS, "It is open.", (), began=7.4)  # was overtaken
        assert (await stage.view()).outcome is None
        await stage.following.closed(OURS, "Done.", (), began=7.6)
        view = await stage.view()
        assert (view.outcome, view.answer) == ("answered", "Done.")
        assert stage.notes() == Notes()

    run(play())


def test_a_request_to_muster_does_not_close_conversations_of_a_running_program(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Followed(tmp_path, is_alive=is_keeper_alive)
        await stage.start()
        await stage.hear(keeper=keeper_of("here", os.getpid()))
        await stage.ask("Thanks!")
        assert (await stage.view()).outcome is None

    run(play())


def test_the_end_of_a_program_closes_all_its_conversations(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        await stage.work(WRITER, "a2")
        await stage.hear(DOCS, keeper=OTHERS)
        again = OURS._replace(pid=OURS.pid + 1)
        await stage.following.left(again, "the program that led it has ended")
        views = await stage.views()
        assert [view.outcome for view in views.values()] == ["failed", None]
        assert steps(views[ONE])[-2:] == [(WRITER, ENGINEER), (ENGINEER, "MAIN")]

    run(play())


def test_a_keeper_is_parsed_from_its_text() -> None:
    for keeper in (OURS, OURS.of("a1"), Keeper("x"), OURS.of("Lyra the «odd»/..")):
        assert owner.parse(str(keeper)) == keeper
    assert owner.parse("another program") is None
    assert is_keeper_alive("another program")
    assert is_keeper_alive(str(Keeper("x")))
    assert not is_keeper_alive(str(keeper_of("x", os.getpid())._replace(started="1@never")))
    assert keeper_of("x/y", -1).pid == 0
    assert "/" not in keeper_of("../../x", 0).session


def test_a_conversation_of_another_kind_of_keeper_is_not_changed(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Followed(tmp_path)
        await stage.start()
        async with stage.log_provider.access() as session_log:
            opening = c.OpenConversation(text="x", speaker_name=MARCUS, keeper="codex:1")
            await session_log.send(opening, actor=person(MARCUS))
        await stage.hear()
        await stage.following.left(OURS, "ended")
        assert (await stage.view()).outcome is None

    run(play())


# ── notes ─────────────────────────────────────────────────────────────────────────────────────────


def test_malformed_notes_count_as_empty(tmp_path: Path) -> None:
    session_log = NotesStore(tmp_path)
    notes = Notes(
        given=[PendingTask(to="a", text="b")],
        subagents={"a1": Subagent(conversation="conv_001")},
        looks={"conv_001": {"odd-\udcff": (1, 2)}},
    )
    session_log.write("one", notes)
    assert session_log.read("one") == notes
    [file] = (tmp_path / FOLDER).iterdir()
    for damaged in (b"", b"\xff", b"[]", b'{"given": 1}', b"[" * 100_000):
        file.write_bytes(damaged)
        assert session_log.read("one") == Notes()


def test_pending_tasks_are_bounded() -> None:
    notes = Notes()
    for number in range(100):
        notes.give(PendingTask(to="a", text=str(number)))
    assert [each.text for each in notes.take("a")][-1] == "99"
    assert len(notes.given) == 63
