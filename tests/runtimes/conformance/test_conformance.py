"""What every runtime does in the life of a session, shown with a scripted program of each."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.engine.ports import (
    Launch,
    PartialText,
    Permission,
    PermissionAnswer,
    PromptAccepted,
    Result,
    SessionActivity,
    SessionHandle,
)
from muster.errors import CannotStart
from muster.machines.vocabulary import Activity, Outcome, RunMode, Taken, Urgency, Usage
from tests.builders import run
from tests.runtimes.conformance import python_agent
from tests.runtimes.conformance.subjects import SUBJECTS, Subject
from tests.runtimes.programs import ADA, Listener, alive, gone, new_session, open_files
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

QUICK = 0.3
"""How long a program is waited for that does not obey."""


class Approver(Listener):
    """A listener that answers approvals as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = PermissionAnswer(False, "not today")
        self.asked: list[Permission] = []

    async def on_permission_request(self, request: Permission) -> PermissionAnswer:
        if request.is_settled:
            return PermissionAnswer(True, "")
        self.asked.append(request)
        return self.answer

    def results(self) -> list[Result]:
        return [each for each in self.said if isinstance(each, Result)]

    def answers(self) -> list[str]:
        return [each.text for each in self.results()]

    async def answered(self, count: int) -> None:
        await self.until(lambda: len(self.results()) >= count)

    async def begun(self) -> None:
        """Return when work on something that hangs has begun."""
        await self.until(lambda: any(isinstance(each, PartialText) for each in self.said))

    def taken(self) -> list[Taken]:
        return [each.how for each in self.said if isinstance(each, PromptAccepted)]

    def activities(self) -> list[SessionActivity]:
        return [each for each in self.said if isinstance(each, SessionActivity)]


class Stage:
    """A folder, a runtime in it, and a listener."""

    def __init__(self, subject: Subject, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONVERSATIONS", str(folder))
        self.subject = subject
        self.folder = folder
        self.listener = Approver()

    async def start(
        self,
        prompt: str = "",
        *,
        how: str = "",
        stop_s: float = LIFE_SECONDS,
        idle: bool = False,
        worktree: Path | None = None,
    ) -> SessionHandle:
        runtime = self.subject.make(self.folder, how, stop_s)
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt=prompt,
            idle=idle,
            folder=self.folder / "agents" / "Ada",
            worktree=worktree,
            cwd=None if worktree is None else worktree / "web",
        )
        return await runtime.start(launch, self.listener)


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name)
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(request.param, tmp_path, monkeypatch)


def of(has: Callable[[Subject], bool]) -> pytest.MarkDecorator:
    """The runtimes of which a rule holds."""
    subjects = [each for each in SUBJECTS if has(each)]
    return pytest.mark.parametrize(
        "stage", subjects, ids=[each.name for each in subjects], indirect=True
    )


async def ended(session: SessionHandle) -> None:
    await session.stop(Urgency.NOW)
    assert (await session.wait()).outcome is Outcome.COMPLETED
    assert not alive(session.pid)


def test_prompts_are_answered_in_order_by_one_session(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("say one")
        await stage.listener.answered(1)
        assert await session.send_prompt("say two")
        await stage.listener.answered(2)
        assert stage.listener.answers() == ["one", "two"]
        assert all(each.ok and each.answers for each in stage.listener.results())
        if stage.subject.confirms:
            assert stage.listener.taken() == [Taken.STARTED, Taken.STARTED]
        await ended(session)

    run(scene())


def test_a_session_with_a_worktree_works_in_it(stage: Stage) -> None:
    async def scene() -> None:
        place = stage.folder / "worktrees" / "Ada"
        (place / "web").mkdir(parents=True)
        session = await stage.start("where am I", worktree=place)
        await stage.listener.answered(1)
        assert stage.listener.answers() == [str(place / "web")]
        await ended(session)

    run(scene())


@of(lambda subject: subject.confirms)
def test_a_first_prompt_without_work_waits_for_the_next(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("You are Ada.", idle=True)
        assert stage.listener.words() == []
        await session.send_prompt("say one")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["one"]
        await ended(session)

    run(scene())


def test_a_prompt_in_the_middle_of_work_is_worked_on_next(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("hang")
        await stage.listener.begun()
        assert await session.send_prompt("say two")
        if stage.subject.injects:
            assert stage.listener.taken() == [Taken.STARTED, Taken.INJECTED]
            await ended(session)
            return
        await session.interrupt()
        await stage.listener.until(lambda: "two" in stage.listener.answers())
        if stage.subject.confirms:
            assert stage.listener.taken() == [Taken.STARTED, Taken.QUEUED]
        await ended(session)

    run(scene())


def test_an_interrupt_stops_the_work_and_not_the_session(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("hang")
        await stage.listener.begun()
        await session.interrupt()
        if stage.subject.confirms:
            assert [each.interrupted for each in stage.listener.results()] == [True]
        assert await session.send_prompt("say after")
        await stage.listener.until(lambda: "after" in stage.listener.answers())
        await ended(session)

    run(scene())


@of(lambda subject: subject.name != "command")  # a deadline ends its turn: test_stopping.py
def test_work_that_ignores_an_interrupt_does_not_keep_muster_waiting(stage: Stage) -> None:
    async def scene() -> None:
        python_agent.BLOCKED.clear()
        verb = "hang" if stage.subject.is_process else "block"
        session = await stage.start(verb, how="deaf", stop_s=QUICK)
        if stage.subject.is_process:
            await stage.listener.begun()
        else:
            await asyncio.to_thread(python_agent.BLOCKS.wait, WAIT_SECONDS)
        await session.interrupt()
        end = await session.wait()
        assert not alive(session.pid)
        assert end.reason
        python_agent.BLOCKED.set()

    run(scene())


def test_a_stop_after_the_work_lets_it_finish(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("say one")
        await stage.listener.answered(1)
        await session.stop(Urgency.GRACEFUL)
        assert (await session.wait()).outcome is Outcome.COMPLETED
        assert stage.listener.answers() == ["one"]
        assert not await session.send_prompt("say two")

    run(scene())


def test_a_stop_now_ends_work_and_session(stage: Stage) -> None:
    # A program of lines takes the first signal for an interrupt, and the next one for the end.
    stop_s = LIFE_SECONDS if stage.subject.confirms else QUICK

    async def scene() -> None:
        session = await stage.start("hang", stop_s=stop_s)
        await stage.listener.begun()
        await ended(session)
        await session.stop(Urgency.NOW)  # harmless on a session that has ended

    run(scene())


@of(lambda subject: subject.is_process)
def test_a_kill_leaves_no_process_behind(stage: Stage) -> None:
    async def scene() -> None:
        before = open_files()
        session = await stage.start("hang child", how="deaf")
        listener = stage.listener

        def child() -> int | None:
            numbers = listener.numbers("child")
            calls = [each.text for each in listener.activities() if each.name.endswith("child")]
            if calls:
                numbers = [int("".join(filter(str.isdigit, calls[0])))]
            return numbers[0] if numbers else None

        await listener.until(child)
        await session.kill()
        await session.wait()
        assert not alive(session.pid)
        await gone(child())
        assert not open_files() - before

    run(scene())


def test_a_crash_is_told_with_its_last_words(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("crash")
        end = await session.wait()
        assert end.outcome is Outcome.FAILED
        assert "it broke" in end.reason

    run(scene())


def test_a_program_that_does_not_come_up_says_why(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        if not stage.subject.confirms:  # it is up when it runs
            session = await stage.start("say one", how="absent")
            assert "no key" in (await session.wait()).reason
            return
        with pytest.raises(CannotStart, match=r"absent|no key"):
            await stage.start("say one", how="absent")

    run(scene())
    assert not [each for each in caplog.records if each.exc_info]  # it is no bug of muster


@of(lambda subject: subject.resumes)
def test_a_conversation_without_words_is_not_resumed(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        session = await stage.start(idle=True)
        await session.kill()
        await session.wait()
        for kept in stage.folder.glob("*-*"):  # most programs keep nothing of it
            kept.unlink()
        again = await stage.start("say one")
        await stage.listener.answered(1)
        await ended(again)

    run(scene())
    assert "cannot resume" not in caplog.text


def test_usage_is_told_with_each_result(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("spend one")
        await stage.listener.answered(1)
        await session.send_prompt("spend two")
        await stage.listener.answered(2)
        spent = Usage(cost_usd=0.25, input_tokens=10, output_tokens=5)
        if not stage.subject.has_costs:
            spent = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=4)
        assert [each.usage for each in stage.listener.results()] == [spent, spent]
        await ended(session)

    run(scene())


def test_a_tool_call_is_told_at_its_beginning_and_its_end(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("tool found")
        await stage.listener.answered(1)
        began, over = stage.listener.activities()
        assert (began.kind, over.kind) == (Activity.TOOL_CALL, Activity.TOOL_DONE)
        assert began.name == over.name in ("Read notes", "shell")
        assert began.ref == over.ref
        assert over.text == "the notes"
        assert stage.listener.answers() == ["found"]
        await ended(session)

    run(scene())


@pytest.mark.parametrize("allowed", [True, False])
def test_an_approval_is_asked_for_and_its_answer_told(stage: Stage, allowed: bool) -> None:
    async def scene() -> None:
        stage.listener.answer = PermissionAnswer(allowed, "")
        session = await stage.start("ask notes.py")
        await stage.listener.answered(1)
        assert "notes.py" in stage.listener.asked[0].detail
        yes = ("allow_once", "accept")
        assert (stage.listener.answers()[0] in yes) is allowed
        await ended(session)

    run(scene())


@of(lambda subject: subject.resumes)
def test_a_conversation_goes_on_after_a_crash(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("say remember the milk")
        await stage.listener.answered(1)
        await session.kill()
        await session.wait()
        again = await stage.start("recall")
        await stage.listener.answered(2)
        assert "remember the milk" in stage.listener.answers()[1]
        await ended(again)

    run(scene())
