"""Conversations in all three modes, with real programs as agents, and their failures."""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.delegation import session_folder
from muster.delegation.folder.workspace import files_of
from muster.delegation.visiting import team_in
from muster.engine.system import SystemClock
from muster.errors import (
    DelegationOpen,
    Invalid,
    NoDelegation,
    NotFound,
    PathTaken,
    PathUnusable,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import FIRST_ENROLLED_SEAT, MUSTER, ConversationId, SeatId, person
from muster.machines.vocabulary import DelegationMode, FileChange, Remark, RunMode
from muster.permissions.policy import parse
from muster.runtimes.process import processes
from muster.views.conversations import ConversationView
from tests.builders import run
from tests.delegation.stage import DOCS, MARCUS, PYTHON, SQL, Stage, number_in

ONE = "conversations/conv_001"


def steps(view: ConversationView) -> list[tuple[str, str, str]]:
    return [(step.source, step.target, step.trigger) for step in view.trace]


def remarks(facts: list[e.Fact], kind: Remark) -> list[str]:
    return [
        fact.text for fact in facts if isinstance(fact, e.DialogueRecorded) and fact.kind is kind
    ]


# ── orchestrator ──────────────────────────────────────────────────────────────────────────────────


def test_a_request_goes_to_the_agent_that_matches_and_back_to_main(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        view = await stage.ask(PYTHON)
        assert steps(view) == [
            ("MAIN", "python-engineer", "delegated"),
            ("python-engineer", "MAIN", "task_completed"),
        ]
        assert (view.outcome, view.answer) == ("answered", "I wrote hello_world.py.")
        [file] = view.files
        content = b"print('Hello, World!')\n"
        assert (file.path, file.change, file.size) == ("hello_world.py", FileChange.CREATED, 23)
        assert file.sha256 == hashlib.sha256(content).hexdigest()
        assert view.route is not None
        assert view.route.candidates[0].agent == "python-engineer"
        assert view.route.candidates[0].words == ("Python", "script", "Write")
        assert await stage.is_up_to_date()

    run(play())


def test_a_person_can_choose_another_agent_than_the_one_that_matches(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        view = await stage.ask(PYTHON, to="sql-tuner")
        assert view.route is not None
        assert (view.route.agent, view.route.rule) == ("sql-tuner", "person")
        assert view.route.candidates[0].agent == "python-engineer"
        with pytest.raises(NotFound, match="nobody"):
            await stage.ask(PYTHON, to="nobody")
        assert len(await stage.conversations.views()) == 1

    run(play())


def test_the_agent_is_told_the_task_and_where_to_work(tmp_path: Path) -> None:
    program = """
import os, sys
print(sys.stdin.read())
print(os.getcwd() + "/" == os.environ["MUSTER_WORKSPACE"], os.environ["MUSTER_CONVERSATION"])
"""

    async def play() -> None:
        stage = Stage(tmp_path, program)
        await stage.start()
        told = (await stage.ask(PYTHON)).answer
        outputs = stage.root / ONE / "outputs"
        assert "You are careful." in told
        assert f"# The task\n\n{PYTHON}" in told
        assert f"goes into {outputs}/" in told
        assert f"add it to the end of {stage.root}/{ONE}/dialogue.md" in told
        assert "HANDOFF" not in told
        assert told.endswith("True conv_001")

    run(play())


def test_text_that_an_agent_adds_to_its_dialogue_is_recorded(tmp_path: Path) -> None:
    program = """
import os
with open(os.environ["MUSTER_DIALOGUE"], "a") as file:
    file.write("I thought of \\x1b[31mgreen\\n")
print("done")
"""

    async def play() -> None:
        stage = Stage(tmp_path, program)
        await stage.start()
        await stage.ask(PYTHON)
        assert remarks(await stage.facts(e.DialogueRecorded), Remark.THINKING) == [
            "I thought of \x1b[31mgreen"
        ]
        text = stage.read(f"{ONE}/dialogue.md")
        assert text.count("I thought of") == 1
        assert "> I thought of �[31mgreen" in text  # nothing that a terminal would obey
        assert await stage.is_up_to_date()

    run(play())


def test_the_table_of_an_agent_comes_before_the_program_for_all(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "print('all')", own={"docs-writer": "print('own')"})
        await stage.start()
        assert (await stage.ask(PYTHON)).answer == "all"
        assert (await stage.ask(DOCS)).answer == "own"

    run(play())


def test_without_a_program_for_the_agent_main_answers_with_the_decision(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "")
        await stage.start()
        view = await stage.ask(PYTHON)
        assert (view.outcome, view.state, view.trace) == ("failed", "MAIN", ())
        assert "This is for python-engineer" in view.answer
        assert "[delegation]" in view.answer
        assert "| python-engineer |" in stage.read(f"{ONE}/dialogue.md")

    run(play())


def test_an_agent_that_crashes_is_reported_and_the_next_request_is_taken(tmp_path: Path) -> None:
    async def play() -> None:
        broken = "import sys; open('half.txt', 'w').write('x'); sys.exit('no paper')"
        stage = Stage(tmp_path, own={"python-engineer": broken})
        await stage.start()
        view = await stage.ask(PYTHON)
        assert steps(view)[-1] == ("python-engineer", "MAIN", "agent_failed")
        assert view.outcome == "failed"
        assert view.answer == "python-engineer failed: it failed with code 1: no paper"
        assert [file.path for file in view.files] == ["half.txt"]
        assert (await stage.ask(DOCS)).outcome == "answered"
        assert await stage.is_up_to_date()

    run(play())


def test_an_agent_whose_program_is_missing_fails_with_the_reason(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, command=("/nowhere/at/all",))
        await stage.start()
        view = await stage.ask(PYTHON)
        assert steps(view)[-1] == ("python-engineer", "MAIN", "agent_failed")
        assert "Cannot start '/nowhere/at/all'" in view.answer

    run(play())


def test_an_agent_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(
            tmp_path, "import time; time.sleep(600)", task_seconds=0.3, clock=SystemClock()
        )
        await stage.start()
        view = await stage.ask(PYTHON)
        assert view.answer.endswith("it took longer than 0.3 s and was stopped")

    run(play())


def test_files_outside_of_the_outputs_are_noted_unless_the_request_names_them(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        project = tmp_path / "project"
        program = f"open({str(project / 'setup.py')!r}, 'w').write('x')"
        stage = Stage(tmp_path, program)
        await stage.start()
        [file] = (await stage.ask(PYTHON)).files
        assert (file.path, file.outside, file.named) == (f"{project}/setup.py", True, False)
        assert remarks(await stage.facts(e.DialogueRecorded), Remark.NOTE) == [
            f"python-engineer wrote outside of its outputs: {project}/setup.py"
        ]
        (project / "setup.py").unlink()
        [file] = (await stage.ask(f"{PYTHON} as setup.py")).files
        assert (file.outside, file.named) == (True, True)
        assert len(remarks(await stage.facts(e.DialogueRecorded), Remark.NOTE)) == 1

    run(play())


def test_files_of_musters_own_earlier_sessions_are_no_agents(tmp_path: Path) -> None:
    async def play() -> None:
        log = tmp_path / "project/.claude/agent-state-machine/20261118_084533/.muster/team.db-shm"
        log.parent.mkdir(parents=True)
        stage = Stage(tmp_path, f"open({str(log)!r}, 'w').write('x')")
        await stage.start()
        assert (await stage.ask(PYTHON)).files == ()

    run(play())


def test_changed_and_deleted_files_are_recorded_as_such(tmp_path: Path) -> None:
    program = """
import os
if os.path.exists("a.txt"):
    open("a.txt", "a").write("more")
    os.unlink("b.txt")
else:
    [open(name, "w").write("new") for name in ("a.txt", "b.txt")]
print("[HANDOFF docs-writer] go on" if os.environ["MUSTER_AGENT"] == "python-engineer" else "ok")
"""

    async def play() -> None:
        stage = Stage(tmp_path, program)
        await stage.start(DelegationMode.INTERACTIVE)
        files = (await stage.ask(PYTHON)).files
        assert [(file.by, file.path, file.change.value) for file in files] == [
            ("python-engineer", "a.txt", "created"),
            ("python-engineer", "b.txt", "created"),
            ("docs-writer", "a.txt", "changed"),
            ("docs-writer", "b.txt", "deleted"),
        ]
        index = json.loads(stage.read("conversations/messages.jsonl"))
        assert [Path(each["path"]).name for each in index["files_created"]] == ["a.txt"]

    run(play())


# ── nobody matches ────────────────────────────────────────────────────────────────────────────────


def test_a_request_without_an_agent_that_main_may_not_do_suggests_an_agent_to_create(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        view = await stage.ask("Forge the kraken firmware in kraken.rs")
        assert (view.outcome, view.trace) == ("failed", ())
        [denied] = await stage.facts(e.PermissionDenied)
        assert isinstance(denied, e.PermissionDenied)
        assert denied.state == "MAIN"
        assert denied.suggestion == "forge-kraken-firmware-agent"
        assert "kraken.rs" in denied.reason
        assert ".claude/agents/forge-kraken-firmware-agent.md" in view.answer

    run(play())


def test_the_policy_of_the_folder_decides_what_main_may_do(tmp_path: Path) -> None:
    policy = '{"MAIN_PERMISSIONS": {"can_write": ["*"], "cannot_write": []}}'

    async def play() -> None:
        stage = Stage(tmp_path)
        stage.root.mkdir()
        (stage.root / "permissions.json").write_text(policy)
        await stage.start(policy=parse(policy))
        await stage.ask("Forge the kraken in kraken.rs")
        assert not await stage.facts(e.PermissionDenied)
        first = json.loads(stage.read("state.jsonl").splitlines()[0])
        assert first["permissions"]["can_write"] == ["*"]

    run(play())


def test_an_empty_request_opens_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        with pytest.raises(Invalid):
            await stage.ask("")
        assert not await stage.conversations.views()

    run(play())


# ── interactive ───────────────────────────────────────────────────────────────────────────────────

HANDING = """
import os
name = os.environ["MUSTER_AGENT"]
open(name + ".txt", "w").write("x")
following = {"python-engineer": "docs-writer", "docs-writer": "sql-tuner"}.get(name)
print(name, "was here")
if following:
    print(f"[HANDOFF {following}] it knows more")
"""


def test_in_interactive_mode_agents_hand_over_to_each_other(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, HANDING)
        await stage.start(DelegationMode.INTERACTIVE)
        view = await stage.ask(PYTHON)
        assert steps(view) == [
            ("MAIN", "python-engineer", "delegated"),
            ("python-engineer", "docs-writer", "handed_over"),
            ("docs-writer", "sql-tuner", "handed_over"),
            ("sql-tuner", "MAIN", "task_completed"),
        ]
        assert view.answer == "sql-tuner was here"
        assert "python-engineer reports: python-engineer was here" in "".join(
            remarks(await stage.facts(e.DialogueRecorded), Remark.TASK)
        )
        index = json.loads(stage.read("conversations/messages.jsonl"))
        assert index["agents_used"] == ["python-engineer", "docs-writer", "sql-tuner"]
        assert await stage.is_up_to_date()

    run(play())


def test_a_loop_of_hand_overs_without_progress_is_stopped_with_the_reason(tmp_path: Path) -> None:
    program = """
import os
other = "docs-writer" if os.environ["MUSTER_AGENT"] == "python-engineer" else "python-engineer"
print(f"[HANDOFF {other}] you do it")
"""

    async def play() -> None:
        stage = Stage(tmp_path, program)
        await stage.start(DelegationMode.INTERACTIVE)
        view = await stage.ask(PYTHON)
        assert [target for _, target, _ in steps(view)] == [
            "python-engineer",
            "docs-writer",
            "MAIN",
        ]
        assert view.outcome == "failed"
        assert "it came back to python-engineer without progress" in view.answer

    run(play())


def test_an_agent_can_hand_back_to_main(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "print('enough')\nprint('[HANDOFF MAIN] done here')")
        await stage.start(DelegationMode.INTERACTIVE)
        view = await stage.ask(PYTHON)
        assert steps(view)[-1] == ("python-engineer", "MAIN", "handed_back")
        assert (view.outcome, view.answer) == ("answered", "enough")

    run(play())


def test_a_hand_over_to_an_agent_whose_file_was_removed_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "print('[HANDOFF docs-writer] you do it')")
        await stage.start(DelegationMode.INTERACTIVE)
        stage.remove("docs-writer")
        view = await stage.ask(PYTHON)
        assert view.outcome == "failed"
        [note] = remarks(await stage.facts(e.DialogueRecorded), Remark.NOTE)
        assert "its file was removed" in note

    run(play())


def test_a_hand_over_to_an_unknown_agent_fails_with_the_reason(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "print('[HANDOFF ghost] boo')")
        await stage.start(DelegationMode.INTERACTIVE)
        view = await stage.ask(PYTHON)
        assert view.outcome == "failed"
        [note] = remarks(await stage.facts(e.DialogueRecorded), Remark.NOTE)
        assert note.startswith("the hand-over to ghost was refused: There is no agent description")

    run(play())


def test_a_hand_over_to_an_agent_without_a_program_ends_in_main(tmp_path: Path) -> None:
    async def play() -> None:
        code = "print('[HANDOFF docs-writer] over to you')"
        stage = Stage(tmp_path, "", own={"python-engineer": code})
        await stage.start(DelegationMode.INTERACTIVE)
        view = await stage.ask(PYTHON)
        assert (view.outcome, view.state) == ("failed", "MAIN")
        assert "This is for docs-writer" in view.answer

    run(play())


def test_in_orchestrator_mode_a_hand_over_is_only_noted(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "print('fine')\nprint('[HANDOFF docs-writer] you too')")
        await stage.start()
        view = await stage.ask(PYTHON)
        assert (view.outcome, view.answer) == ("answered", "fine")
        assert remarks(await stage.facts(e.DialogueRecorded), Remark.NOTE) == [
            "python-engineer cannot hand over to docs-writer in orchestrator mode"
        ]

    run(play())


# ── response ──────────────────────────────────────────────────────────────────────────────────────


def test_in_response_mode_a_request_waits_in_the_queue_until_it_is_claimed(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        view = await stage.ask(PYTHON)
        assert (view.state, view.outcome) == ("QUEUE", None)
        waiting = json.loads(stage.read("queue/001.json"))
        assert (waiting["text"], waiting["for"]) == (PYTHON, "python-engineer")
        assert waiting["claimed_by"] is None
        assert await stage.serve_queue(("docs-writer",)) == 0
        assert await stage.serve_queue(("python-engineer",)) == 1
        assert not (stage.root / "queue/001.json").exists()
        done = json.loads(stage.read("queue/done/001.json"))
        assert (done["outcome"], done["result"]) == ("answered", "I wrote hello_world.py.")
        assert steps((await stage.conversations.views())[ConversationId("conv_001")]) == [
            ("QUEUE", "python-engineer", "delegated"),
            ("python-engineer", "QUEUE", "task_completed"),
        ]
        assert await stage.is_up_to_date()

    run(play())


def test_several_runners_carry_out_each_message_exactly_once(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        for text in (PYTHON, DOCS, SQL, PYTHON, DOCS, SQL):
            await stage.ask(text)
        async with stage.open() as muster:
            queue = muster.requests.queue
            await asyncio.gather(*(queue.carry_out((), until_empty=True) for _ in range(3)))
        claims = [
            fact.conversation
            for fact in await stage.facts(e.StateTransition)
            if isinstance(fact, e.StateTransition) and fact.trigger == "delegated"
        ]
        assert sorted(filter(None, claims)) == [f"conv_00{number}" for number in range(1, 7)]
        assert sorted(path.name for path in (stage.root / "queue/done").iterdir()) == [
            f"00{number}.json" for number in range(1, 7)
        ]
        assert await stage.is_up_to_date()

    run(play())


def test_in_response_mode_a_request_without_a_matching_agent_is_answered_at_once(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        view = await stage.ask("Forge the kraken hull")
        assert (view.state, view.outcome) == ("QUEUE", "failed")
        assert "No agent matched" in json.loads(stage.read("queue/done/001.json"))["result"]

    run(play())


def test_a_runner_does_not_claim_messages_for_agents_without_a_program(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, "", own={"docs-writer": "print('ok')"})
        await stage.start(DelegationMode.RESPONSE)
        await stage.ask(PYTHON)
        await stage.ask(DOCS)
        assert await stage.serve_queue(()) == 1
        assert json.loads(stage.read("queue/001.json"))["claimed_by"] is None

    run(play())


def test_damaged_files_are_repaired_by_the_next_request(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.ask("hello")
        names = ("agent-list.txt", "AGENT_DIRECTORY.md", "conversations/conv_001/dialogue.md")
        before = [stage.read(name) for name in names]
        (stage.root / names[0]).unlink()
        (stage.root / names[1]).write_text("junk")
        (stage.root / names[2]).write_text(before[2] + "junk\n")
        await stage.ask("hello")
        assert [stage.read(name) for name in names] == before

    run(play())


def test_message_files_of_other_programs_are_imported_once(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, clock=SystemClock())
        await stage.start(DelegationMode.RESPONSE)
        queue = stage.root / "queue"
        message = json.dumps({"text": PYTHON, "from": "Ada"})
        (queue / "a.json").write_text(message)
        (queue / "b.txt").write_text(f"{DOCS}\n")
        (queue / "c.json").write_text('{"text": 7}')
        (queue / ".half.json").write_text('{"te')
        assert await stage.serve_queue(()) == 2
        views = list((await stage.conversations.views()).values())
        assert [(view.text, view.speaker) for view in views] == [(PYTHON, "Ada"), (DOCS, "queue")]
        left = sorted(each.name for each in queue.iterdir())
        assert left == [".half.json", "c.json.rejected", "done"]
        before = views[0].started_at.timestamp() - 1
        (queue / "a.json").write_text(message)  # as a crash would have left it
        os.utime(queue / "a.json", (before, before))
        assert await stage.serve_queue(()) == 0
        assert not (queue / "a.json").exists()

    run(play())


def test_a_runner_ends_with_the_session(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        await stage.end()
        assert await stage.serve_queue((), until_empty=False) == 0
        with pytest.raises(NoDelegation):
            await stage.serve_queue(())

    run(play())


# ── who may not run ───────────────────────────────────────────────────────────────────────────────


async def known(stage: Stage, *commands: c.Command) -> None:
    """Give the engineer a seat, and send commands of people about it."""
    await stage.ask(PYTHON)
    async with stage.open() as muster:
        for command in commands:
            await muster.dispatcher.send(command, actor=person(MARCUS))


def seat_of(stage: Stage) -> SeatId:
    team = team_in(stage.log_provider.home)
    assert team is not None
    return team.names["python-engineer"]


PAUSED = "'python-engineer' is paused. `muster start python-engineer` lets it run."
PAUSE = c.SetDesired(seat=FIRST_ENROLLED_SEAT, desired=RunMode.PAUSE, set_by=MARCUS)


def test_a_paused_agent_is_not_run_and_the_answer_says_the_rule_and_the_remedy(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await known(stage, PAUSE)
        assert seat_of(stage) == PAUSE.seat
        view = await stage.ask(PYTHON)
        assert (view.outcome, view.answer, view.trace) == ("failed", PAUSED, ())
        assert not (stage.root / "conversations/conv_002/outputs/hello_world.py").exists()
        assert PAUSED in stage.read("conversations/conv_002/dialogue.md")
        await known(stage, replace(PAUSE, desired=RunMode.CONTINUOUS))
        assert (await stage.ask(PYTHON)).outcome == "answered"

    run(play())


def test_a_message_for_a_paused_agent_waits_in_the_queue_and_says_why(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await known(stage, PAUSE)
        await stage.end()
        await stage.start(DelegationMode.RESPONSE)
        view = await stage.ask(PYTHON)
        assert (view.state, view.outcome, view.waits_because) == ("QUEUE", None, PAUSED)
        assert await stage.serve_queue() == 0
        async with stage.open() as muster:
            go = replace(PAUSE, desired=RunMode.CONTINUOUS)
            await muster.dispatcher.send(go, actor=person(MARCUS))
            assert await muster.requests.queue.carry_out((), until_empty=True) == 1

    run(play())


# ── side by side, and after a crash ───────────────────────────────────────────────────────────────


def test_several_requests_at_once_never_collide(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        async with stage.open() as muster:
            ask = muster.requests.ask
            views = await asyncio.gather(*(ask(PYTHON, speaker=MARCUS) for _ in range(3)))
        assert sorted(view.conversation for view in views) == ["conv_001", "conv_002", "conv_003"]
        assert {view.outcome for view in views} == {"answered"}
        assert all(len(view.files) == 1 for view in views)
        assert await stage.is_up_to_date()

    run(play())


def test_conversations_that_a_crash_left_open_are_closed_by_the_next_request(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        async with (
            stage.log_provider.access() as session_log
        ):  # a muster process that ends in the middle of a task
            await session_log.send(
                c.OpenConversation(text="half", speaker_name=MARCUS), actor=person(MARCUS)
            )
            one = ConversationId("conv_001")
            await session_log.send(
                c.Delegate(conversation=one, to="sql-tuner", trigger="x"), actor=MUSTER
            )
        with (stage.root / ONE / "dialogue.md").open("a") as file:
            file.write("my last words\n")
        assert (await stage.ask(DOCS)).conversation == "conv_002"
        left = (await stage.conversations.views())[one]
        assert left.outcome == "failed"
        assert left.answer == "sql-tuner failed: muster ended while it was worked on"
        assert "my last words" in stage.read(f"{ONE}/dialogue.md")
        assert await stage.is_up_to_date()

    run(play())


def test_interrupted_work_is_recorded(tmp_path: Path) -> None:
    program = """
import os, time
with open(".pid", "w") as file:
    file.write(str(os.getpid()))
os.rename(".pid", "pid")
time.sleep(600)
"""

    async def play() -> None:
        stage = Stage(tmp_path, program)
        await stage.start()
        asked = asyncio.ensure_future(stage.ask(PYTHON))
        pid = await asyncio.to_thread(number_in, stage.root / ONE / "outputs/pid")
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        [view] = (await stage.conversations.views()).values()
        assert view.outcome == "failed"
        assert view.answer == "python-engineer failed: it was interrupted"
        assert processes.alive(pid) is None

    run(play())


def test_a_folder_that_cannot_be_written_is_reported_and_the_next_request_retries(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        index = stage.root / "conversations/messages.jsonl"
        index.unlink()
        index.mkdir()
        view = await stage.ask(PYTHON)
        assert view.outcome == "answered"  # the log has it
        assert stage.trouble is not None
        assert "directory" in str(stage.trouble)
        index.rmdir()
        await stage.ask(DOCS)
        assert stage.trouble is None
        assert await stage.is_up_to_date()

    run(play())


def test_the_folder_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.ask(PYTHON)
        before = stage.files()
        for path in (".workspace.json", "state.jsonl", f"{ONE}/dialogue.md", "agent-list.txt"):
            (stage.root / path).unlink()
        (stage.root / "conversations/messages.jsonl").write_text("nonsense")
        (stage.root / "state.jsonl").touch()
        assert await stage.start(None)
        assert stage.files() == before == files_of(await stage.events())

    run(play())


# ── sessions and their folders ────────────────────────────────────────────────────────────────────


def test_a_second_start_resumes_the_open_session(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        assert not await stage.start()
        await stage.ask(PYTHON)
        assert await stage.start(None)
        with pytest.raises(DelegationOpen):
            await stage.start(DelegationMode.RESPONSE)
        assert (await stage.ask(DOCS)).conversation == "conv_002"

    run(play())


def test_a_session_can_start_where_one_ended_and_its_numbers_continue(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.ask(PYTHON)
        await stage.end()
        with pytest.raises(NoDelegation):
            await stage.ask(PYTHON)
        with pytest.raises(NoDelegation):
            await stage.end()
        assert not await stage.start(DelegationMode.INTERACTIVE)
        assert (await stage.ask(DOCS)).conversation == "conv_002"
        kinds = [json.loads(line)["type"] for line in stage.read("state.jsonl").splitlines()]
        assert kinds.count("session_init") == 2
        assert await stage.is_up_to_date()

    run(play())


def test_a_folder_that_is_not_empty_or_cannot_be_made_is_refused(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    with pytest.raises(PathTaken, match="is not empty"):
        session_folder.prepare(full)
    with pytest.raises(PathTaken, match="is a file"):
        session_folder.prepare(full / "thesis.txt")
    with pytest.raises(PathUnusable, match="Give another --path"):
        session_folder.prepare(full / "thesis.txt" / "below")
    assert [each.name for each in full.iterdir()] == ["thesis.txt"]


def test_the_project_of_a_team_is_no_session(tmp_path: Path) -> None:
    (tmp_path / ".muster").mkdir()
    (tmp_path / ".muster" / "team.db").touch()
    (tmp_path / "main.py").touch()
    with pytest.raises(PathTaken, match="is not empty"):
        session_folder.prepare(tmp_path)


def test_a_session_works_in_a_folder_that_was_moved(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.ask(PYTHON)
        moved = Stage(tmp_path)
        moved.root = stage.root.rename(tmp_path / "moved")
        moved.log_provider.root, moved.log_provider.home = moved.root, moved.root / ".muster"
        assert (await moved.ask(DOCS)).outcome == "answered"
        assert (moved.root / "conversations/conv_002/outputs/hello_world.py").exists()

    run(play())
