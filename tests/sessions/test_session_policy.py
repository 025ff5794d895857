"""Requests of programs without hooks: the policy of an open session is applied before a person."""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from muster.engine.ports import Permission, PermissionAnswer
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.sessions import approvals
from muster.testing.runtime import ScriptedSession
from muster.worker.process import Worker
from tests.builders import ADA, eventually, run
from tests.sessions.test_intake import Stage, staged

PYTHON = "Ada may not write /project/evil.py (matches `cannot_write: *.py`)."
RULES = {"AGENTS": {"Ada": {"cannot_write": ["*.py"], "cannot_use": ["Deploy"]}}}


def edit(*paths: str, **more: object) -> Permission:
    given = {"file_path": paths[0]} if len(paths) == 1 else {"file_paths": list(paths)}
    tool = str(more.pop("tool", "Edit"))
    return Permission(tool=tool, detail="x", arguments={**given, **more}, cwd=Path("/project"))


async def opened(stage: Stage, folder: Path, rules: object) -> ScriptedSession:
    """A session of Ada, while a session with this policy is open."""
    await stage.enrol(long_lived=True)
    session = await stage.start()
    (folder / "permissions.json").write_text(json.dumps(rules))
    mode = e.DelegationMode.INTERACTIVE
    await stage.send(c.StartDelegation(mode=mode, path=str(folder), agents=("ada",)))
    return session


DENIED = {
    "a file": edit("evil.py"),
    "one of several files": edit("notes.txt", "/project/evil.py"),
    "a file that is removed": edit("evil.py", tool="Delete"),
    "a change": edit("evil.py", edits=[{"old_string": "a", "new_string": "b"}]),
    "a command": Permission(
        tool="Bash", detail="", arguments={"command": "echo 1 > evil.py"}, cwd=Path("/project")
    ),
}


@pytest.mark.parametrize("request_", DENIED.values(), ids=list(DENIED))
def test_a_request_that_the_policy_denies_is_answered_with_its_rule(
    request_: Permission, tmp_path: Path
) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await opened(stage, tmp_path, RULES)
            answer = await session.listener.on_permission_request(request_)
            assert not answer.allowed
            assert answer.reason.startswith(PYTHON)
            assert not stage.muster.team.agents[ADA].approvals
            (warning,) = await stage.facts(e.WarningLogged)
            assert isinstance(warning, e.WarningLogged)
            assert "denied (agent." in warning.text

    run(story())


def test_a_person_is_asked_about_what_the_policy_allows(tmp_path: Path) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await opened(stage, tmp_path, RULES)
            by_hooks = Permission(
                tool="Edit", detail="x", arguments={"file_path": "evil.py"}, is_judged=True
            )
            for request in (edit("notes.txt", content="text"), by_hooks):
                asked = asyncio.ensure_future(session.listener.on_permission_request(request))
                await eventually(lambda: stage.muster.team.agents[ADA].approvals)
                (approval,) = stage.muster.team.agents[ADA].approvals
                await stage.send(c.AnswerApproval(approval=approval.id, allow=True))
                assert (await asked).allowed

    run(story())


def test_what_the_settings_allow_is_judged_and_no_person_is_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await opened(stage, tmp_path, RULES)
            ask = session.listener.on_permission_request
            good = Permission(
                tool="Edit", detail="x", arguments={"file_path": "a.txt"}, is_settled=True
            )
            assert await ask(good) == PermissionAnswer(True, "")
            deploy = Permission(tool="Deploy", detail="release 4", is_settled=True)
            assert "Deploy is blocked" in (await ask(deploy)).reason

    run(story())


def test_a_policy_that_cannot_be_read_denies(tmp_path: Path) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await opened(stage, tmp_path, {"AGENTS": 7})
            answer = await session.listener.on_permission_request(edit("notes.txt"))
            assert not answer.allowed
            assert "cannot be read" in answer.reason

    run(story())


def test_the_program_of_the_lead_is_main(tmp_path: Path) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            seat: SeatId = LEAD_SEAT
            await stage.enrol(long_lived=True, seat=seat)
            session = await stage.start(seat)
            mode = e.DelegationMode.INTERACTIVE
            await stage.send(c.StartDelegation(mode=mode, path=str(tmp_path), agents=("ada",)))
            answer = await session.listener.on_permission_request(edit("evil.py"))
            assert answer.reason.startswith("MAIN may not write")

    run(story())


def test_requests_of_a_burst_stand_in_the_order_in_which_they_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names, started = [str(number) for number in range(8)], count()

    async def slow_at_first(
        _worker: Worker, look: Callable[[], object], **_limits: object
    ) -> object:
        for _ in range(1000 - 100 * next(started)):  # the facts about the first one take longest
            await asyncio.sleep(0)
        return look()

    monkeypatch.setattr(Worker, "run", slow_at_first)

    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            ask = (await stage.start()).listener.on_permission_request
            async with asyncio.TaskGroup() as burst:
                for each in names:
                    burst.create_task(ask(Permission(tool="Bash", detail=each)))
                await eventually(lambda: len(stage.muster.team.agents[ADA].approvals) == len(names))
                approvals = stage.muster.team.agents[ADA].approvals
                for each in approvals:
                    await stage.send(c.AnswerApproval(approval=each.id, allow=False))
            assert [each.detail for each in approvals] == names

    run(story())


LONG = Permission(
    tool="Bash", detail="x", arguments={"command": "`a` " * 15_000}, cwd=Path("/project")
)


def test_a_request_that_takes_too_long_to_judge_is_denied_in_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 21, H2: its author chooses how long it takes, so it must not hold the event loop."""
    monkeypatch.setattr(approvals, "JUDGE_SECONDS", 0.001)

    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await opened(stage, tmp_path, RULES)
            answer = await session.listener.on_permission_request(LONG)
            assert not answer.allowed
            assert "takes too long to judge" in answer.reason
            assert stage.muster.worker.pid is not None

    run(story())


def test_a_request_that_takes_too_long_to_describe_is_asked_without_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(approvals, "FACTS_SECONDS", 0.001)

    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            asked = asyncio.ensure_future(session.listener.on_permission_request(LONG))
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            (approval,) = stage.muster.team.agents[ADA].approvals
            assert (approval.folder, approval.effects) == (
                "/project",
                ("unclear: it takes too long to look at",),
            )
            await stage.send(c.AnswerApproval(approval=approval.id, allow=False))
            assert not (await asked).allowed

    run(story())
