"""Runs one agent on one task: starts its program, listens to it, and looks at what it wrote.

The program works in the conversation's outputs. What it prints is what it says; what it writes is
found by looking before and after. Writing elsewhere cannot be prevented here, and is found only in
the project that the request came from: as far as that is small enough to be looked through.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder import footprints
from muster.engine import ports
from muster.engine.tasks import see_through
from muster.errors import MusterError
from muster.limits import MESSAGE_BYTES_MAX
from muster.machines.ids import FIRST_ENROLLED_SEAT, SessionId
from muster.machines.spending import implausible
from muster.machines.state import Agent
from muster.machines.vocabulary import Outcome, RunMode, Urgency, Usage

HANDOFF: Final = re.compile(r"^\[HANDOFF ([^\]\n]+)\][ \t]*(.*)$", re.MULTILINE)

SAID_CHARS_MAX: Final = MESSAGE_BYTES_MAX // 8
"""How much of what a program prints is kept in a dialogue; its end is dropped first."""

REPORT_CHARS_MAX: Final = 4000

Programs = Callable[[str, Path], ports.Runtime | None]
"""Which program runs an agent in a folder; none where nobody has said."""


def no_programs(agent: str, folder: Path) -> None:
    """Nobody has said how agents are run."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is to do, and where."""

    session: SessionId
    agent: str
    prompt: str
    outputs: Path
    environment: Mapping[str, str]
    text: str
    """What the human said: a path in it may be written to."""

    folder: Path | None = None
    """Where its prompt and its output are kept."""

    project: Path | None = None
    """The folder that the request came from."""

    spared: Sequence[Path] = ()
    """Folders in it that are not the agent's to change and not looked at."""


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that came, changed or went while an agent worked."""

    found: footprints.Found
    outside: bool = False
    named: bool = False


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a task."""

    failed: bool
    reason: str = ""
    printed: str = ""
    complained: str = ""
    """What it printed on its standard error."""

    report: str = ""
    hand_to: str = ""
    hand_why: str = ""
    files: tuple[FoundFile, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()


class _Listening:
    """Hears one program."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.result: ports.Result | None = None
        self.used = Usage()
        self.handed: tuple[str, str] | None = None
        self.notes: tuple[str, ...] = ()
        self.done = asyncio.Event()

    async def hear(self, said: ports.Said) -> None:
        match said:
            case ports.Output(stream=stream, text=text):
                (self.out if stream == "stdout" else self.err).append(text)
            case ports.Says(text=text):
                self.out.append(text)
            case ports.TurnDone(text=text):
                self.out.append(text or "")
                self.done.set()
            case ports.Result():
                self._use(said.usage)
                if said.answers:
                    self.result = said
                    self.done.set()
            case _:
                pass  # a sign of work, or what only a member of a team can mean

    def _use(self, usage: Usage) -> None:
        """Add a usage up to the bound of one report; one that cannot be true is ignored."""
        why = implausible(usage) or implausible(self.used + usage)
        if why:
            self.notes = (f"A usage that it reported is ignored: {why}.",)
        else:
            self.used += usage

    async def serve(self, call: ports.Call) -> ports.Reply:
        """Of muster's tools, whoever works on a task needs one: to hand it on."""
        to, reason = call.arguments.get("to"), call.arguments.get("reason", "")
        if call.tool == "handoff" and isinstance(to, str):
            self.handed = (to.strip(), str(reason).strip())
            return ports.Reply(True, f"It goes to {to} when you stop. Stop now.")
        return ports.Reply(False, "You work on one task, and have no turn: do it, and say so.")

    async def permit(self, request: ports.Permission) -> ports.PermissionAnswer:
        """Nobody can be asked on behalf of a task."""
        return ports.PermissionAnswer(False, "Nobody is asked while an agent works on a task.")


async def carry_out(runtime: ports.Runtime, task: Task, *, seconds: float) -> Work:
    """Run the agent to its end, however that comes, and say what came of it."""
    before = await asyncio.to_thread(_look, task)
    listening = _Listening()
    failure = await _run(runtime, task, listening, seconds)
    found, notes = await asyncio.to_thread(_found, task, before)
    said = "\n".join(listening.out)[:SAID_CHARS_MAX]
    result = listening.result
    failed = failure is not None or (result is not None and not result.ok)
    handed = None if failed else listening.handed or _handed(said)
    return Work(
        failed=failed,
        reason=failure or (result.text if failed and result else ""),
        printed=said,
        complained="\n".join(listening.err)[:SAID_CHARS_MAX],
        report=_report(result, said),
        hand_to=handed[0] if handed else "",
        hand_why=handed[1] if handed else "",
        files=found,
        usage=listening.used,
        notes=(*notes, *listening.notes),
    )


def _report(result: ports.Result | None, said: str) -> str:
    """What it says has come of it: its result, or what it printed."""
    told = result.text if result is not None and result.text else HANDOFF.sub("", said)
    return told.strip()[-REPORT_CHARS_MAX:]


def _handed(said: str) -> tuple[str, str] | None:
    """To whom the last marker in what it said hands the task, and why."""
    found = None
    for found in HANDOFF.finditer(said):  # noqa: B007 - the last one counts
        pass
    return found and (found[1].strip(), found[2].strip())


# ── its life ──────────────────────────────────────────────────────────────────────────────────────


async def _run(
    runtime: ports.Runtime, task: Task, listening: _Listening, seconds: float
) -> str | None:
    """Run it; what comes back is why it failed, if it did."""
    launch = ports.Launch(
        session=task.session,
        agent=Agent(seat=FIRST_ENROLLED_SEAT, name=task.agent),
        mode=RunMode.RUN_ONCE,
        prompt=task.prompt,
        environment=task.environment,
        folder=task.folder,
    )
    try:
        session = await runtime.start(launch, listening)
    except MusterError as error:
        return str(error)
    try:
        async with asyncio.timeout(seconds):
            ended = await _ended(session, listening)
    except TimeoutError:
        await see_through(session.stop(Urgency.NOW))
        return f"it took longer than {seconds:g} s and was stopped"
    except BaseException:
        await see_through(session.stop(Urgency.NOW))
        raise
    if ended.outcome is Outcome.COMPLETED:
        return None
    code = "" if ended.code is None else f" with code {ended.code}"
    return f"it {ended.outcome}{code}" + (f": {ended.reason}" if ended.reason else "")


async def _ended(session: ports.Session, listening: _Listening) -> ports.Exit:
    """Wait for its end; a program that lives on is let go when it is done."""
    gone = asyncio.ensure_future(session.wait())
    done = asyncio.ensure_future(listening.done.wait())
    try:
        await asyncio.wait({gone, done}, return_when=asyncio.FIRST_COMPLETED)
        if not gone.done():
            await session.stop(Urgency.GRACEFUL)
        return await gone
    finally:
        gone.cancel()
        done.cancel()


# ── what it wrote ─────────────────────────────────────────────────────────────────────────────────


class _Before(msgspec.Struct, frozen=True):
    outputs: footprints.Look
    project: footprints.Look | None


def _look(task: Task) -> _Before:
    outputs = footprints.look(task.outputs) or {}
    project = None
    if task.project is not None:
        project = footprints.look(task.project, without=task.spared)
    return _Before(outputs, project)


def _found(task: Task, before: _Before) -> tuple[tuple[FoundFile, ...], tuple[str, ...]]:
    after = footprints.look(task.outputs) or {}
    inside = footprints.difference(task.outputs, before.outputs, after)
    files = [FoundFile(found=_legible(each)) for each in inside]
    if task.project is None:
        return tuple(files), ()
    around = footprints.look(task.project, without=task.spared)
    if before.project is None or around is None:
        note = f"{task.project} has too many files to see what else was written."
        return tuple(files), (note,)
    for each in footprints.difference(task.project, before.project, around):
        full = each._replace(path=str(task.project / each.path))
        named = each.path in task.text or Path(each.path).name in task.text
        files.append(FoundFile(found=_legible(full), outside=True, named=named))
    return tuple(files), ()


def _legible(found: footprints.Found) -> footprints.Found:
    """A path that can be written down, whatever bytes its name has."""
    return found._replace(path=os.fsencode(found.path).decode("utf-8", "replace"))
