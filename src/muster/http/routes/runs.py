"""Run control over HTTP: the desired and current state of an agent, and its sessions' output.

Only people set the desired state. The machine decides what follows from it (a session starts, or
ends), and the agent's runtime does it.
"""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from muster.errors import Forbidden, NotFound
from muster.http.log_pages import read_slice
from muster.http.nodes.elsewhere import agent_node
from muster.http.routing import EVERYBODY, PEOPLE, PEOPLE_AND_VIEWERS, ApiCall, route
from muster.http.types import Body, Cursor, Instant, Note, Query, in_utc
from muster.identity.waking import with_memory
from muster.machines.commands import InterruptWork, RestartAgent, RetryMessages, SetDesired
from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.regular_files import open_regular
from muster.runtimes.process.output_file import OUTPUT_FILE
from muster.sessions.environment import AGENTS_FOLDER
from muster.store.base import LogFilter, Stored
from muster.views.agents import view_run
from muster.views.answers.agents import OutputPage, RunView
from muster.views.answers.nodes import OutputFilePage
from muster.views.run.output import OUTPUT, OutputFilter, view_output
from muster.views.run.session_names import requests_of, session_among, session_seq

OUTPUTS: Final = 100
OUTPUTS_MAX: Final = 256
"""Pieces of output in a page: of 16 KiB each, as much as a page of the log."""

OUTPUT_PART_BYTES: Final = 256 * 1024


class RunBody(Body, frozen=True, kw_only=True):
    """The desired state of an agent."""

    desired: RunMode
    now: bool = False
    """With `pause`: end its session now. A second `pause` does the same. With `continuous`: start
    a session now, before the next scheduled time."""

    note: Note = ""
    if_generation: int | None = None
    """Refuse if the desired state was set again since this generation."""


@route("GET", "/api/agents/{name}/run", may=EVERYBODY)
async def show_run(call: ApiCall, name: str) -> RunView:
    """Show the desired and the current state of an agent."""
    return view_run(call.team, call.agent(name))


@route("PUT", "/api/agents/{name}/run", may=PEOPLE)
async def set_run(call: ApiCall, name: str, body: RunBody) -> RunView:
    """Start or stop an agent: continuous, pause, run_once or run_cleanup."""
    agent = call.agent(name)
    wish = SetDesired(
        seat=agent.seat,
        desired=body.desired,
        set_by=call.speaker,
        note=body.note,
        now=body.now,
        if_generation=body.if_generation,
    )
    call.check_scope(wish)  # before its lead hands the memory over
    await call.send(await with_memory(call.muster, wish, call.caller.actor))
    return view_run(call.team, call.team.agent(agent.seat))


class RestartBody(Body, frozen=True, kw_only=True):
    """How an agent is restarted."""

    now: bool = False
    """End its session now, instead of after its work."""

    note: Note = ""


@route("POST", "/api/agents/{name}/restart", may=PEOPLE)
async def restart_agent(call: ApiCall, name: str, body: RestartBody) -> RunView:
    """End the session of an agent, and start another. The desired state does not change."""
    agent = call.agent(name)
    restart = RestartAgent(seat=agent.seat, set_by=call.speaker, note=body.note, now=body.now)
    await call.send(restart)
    return view_run(call.team, call.team.agent(agent.seat))


@route("POST", "/api/agents/{name}/interrupt", may=PEOPLE)
async def interrupt_work(call: ApiCall, name: str) -> RunView:
    """Stop the present work of an agent. Its session lives on, and what it had said is kept."""
    agent = call.agent(name)
    await call.send(InterruptWork(seat=agent.seat))
    return view_run(call.team, call.team.agent(agent.seat))


@route("POST", "/api/agents/{name}/retry", may=PEOPLE)
async def retry_messages(call: ApiCall, name: str) -> RunView:
    """Hand an agent the messages again that it left unanswered, and start it if it does not run."""
    agent = call.agent(name)
    await call.send(RetryMessages(seat=agent.seat))
    return view_run(call.team, call.team.agent(agent.seat))


# ── output ────────────────────────────────────────────────────────────────────────────────────────


class OutputQuery(Query, frozen=True, kw_only=True):
    """Which output."""

    after: Cursor | None = None
    """The last seq that was read; -1 is from the beginning. Left out, the newest output."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=OUTPUTS_MAX)] = OUTPUTS
    since: Instant | None = None
    """Only output from this time on."""

    session: str | None = None
    """Only output of this session: its id, or the number at its end."""

    stream: Literal["stdout", "stderr"] | None = None


async def _session(call: ApiCall, agent: Agent, word: str) -> SessionId:
    """The session of the agent that a word names. Raises `NoSuchSession`."""
    before = session_seq(agent.id, word) - 1
    where = requests_of(agent.seat)
    page = await call.muster.store.read(after=max(before, 0), limit=1, where=where)
    return session_among(agent.id, word, page)


@route("GET", "/api/agents/{name}/output", may=EVERYBODY)
async def read_output(call: ApiCall, name: str, query: OutputQuery) -> OutputPage:
    """Read the output of an agent's sessions."""
    agent = call.agent(name)
    where = LogFilter(types=frozenset({OUTPUT}), seat=agent.seat)
    since = None if query.since is None else in_utc("since", query.since)
    session = None if query.session is None else await _session(call, agent, query.session)
    asked = OutputFilter(since=since, session=session, stream=query.stream)

    def wanted(each: Stored) -> bool:
        return asked.wants(view_output(each.data))

    found, after, more = await read_slice(call, where, query.after, query.limit, wanted)
    output = tuple(view_output(each.data) for each in found)
    return OutputPage(output=output, after=after, more=more)


class OutputFileQuery(Query, frozen=True, kw_only=True):
    """Which part of an output file."""

    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Where the part ends, in bytes; left out, it is the end of the file."""


@route("GET", "/api/agents/{name}/output/file", may=PEOPLE_AND_VIEWERS, of_node=agent_node)
async def read_output_file(call: ApiCall, name: str, query: OutputFileQuery) -> OutputFilePage:
    """Read the end of an agent's output file, which has what events leave out."""
    agent, settings = call.agent(name), call.muster.settings.path
    if agent.seat in call.access.insiders:
        remedy = "It is in a private channel; a member or an operator may."
        raise Forbidden(who="You", act=f"read the output file of {agent.id!r}", remedy=remedy)
    if settings is None:
        raise NotFound(kind="output file", name=agent.id)
    path = settings.parent / AGENTS_FOLDER / agent.folder_name / OUTPUT_FILE
    try:
        size, start, part = await asyncio.to_thread(_end_of, path, query.before)
    except (OSError, ValueError) as gone:
        raise NotFound(kind="output file", name=agent.id) from gone
    return OutputFilePage(
        node=call.muster.dispatcher.node,
        path=str(path.relative_to(settings.parent)),
        size=size,
        start=start,
        text=part.decode(errors="replace"),
    )


def _end_of(path: Path, before: int | None) -> tuple[int, int, bytes]:
    """The size of a file, and the part of it that ends at a place, or at its end."""
    opened = open_regular(path, follow_links=False)
    with os.fdopen(opened, "rb") as file:
        size = os.fstat(opened).st_size
        end = size if before is None else min(before, size)
        start = max(end - OUTPUT_PART_BYTES, 0)
        file.seek(start)
        return size, start, file.read(end - start)
