"""An agent's own memory over HTTP: its notes, and its soul with all versions."""

from typing import Annotated

import msgspec

from muster.http.recording import record
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Body, Note
from muster.machines.commands import EditNote, EditSoul, ForgetNote, Remember
from muster.views.answers import Recorded
from muster.views.answers.messages import NoteList, NoteView, SoulHistory
from muster.views.memory.souls import soul_version, soul_versions

NoteNumber = Annotated[int, msgspec.Meta(ge=1)]


class NoteBody(Body, frozen=True, kw_only=True):
    """The text of a note."""

    text: str


class SoulBody(Body, frozen=True, kw_only=True):
    """A new version of a soul."""

    soul: str
    reason: Note = ""


class ChooseSoulBody(Body, frozen=True, kw_only=True):
    """The choice of a version of a soul."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    reason: Note = ""


@route("GET", "/api/agents/{name}/notes", may=EVERYBODY)
async def list_notes(call: ApiCall, name: str) -> NoteList:
    """List what an agent noted for its later lives."""
    agent = call.agent(name)
    notes = tuple(
        NoteView(id=each.id, text=each.text, at=each.at, by=each.by) for each in agent.notes
    )
    return NoteList(agent=agent.id, notes=notes)


@route("POST", "/api/agents/{name}/notes", may=ACTORS, status=201)
async def add_note(call: ApiCall, name: str, body: NoteBody) -> Recorded:
    """Add a note, as the agent or for it."""
    return await record(call, Remember(seat=call.acting_as(name).seat, text=body.text))


@route("PUT", "/api/agents/{name}/notes/{note}", may=OPERATOR)
async def change_note(call: ApiCall, name: str, note: str, body: NoteBody) -> Recorded:
    """Edit a note of an agent."""
    command = EditNote(seat=call.agent(name).seat, note=_number(note), text=body.text)
    return await record(call, command)


@route("DELETE", "/api/agents/{name}/notes/{note}", may=ACTORS)
async def delete_note(call: ApiCall, name: str, note: str) -> Recorded:
    """Delete a note, as the agent or for it."""
    return await record(call, ForgetNote(seat=call.acting_as(name).seat, note=_number(note)))


def _number(note: str) -> int:
    """The number of a note in a path; what is no number is no note."""
    return int(note) if note.isascii() and note.isdecimal() and len(note) < 10 else 0


@route("PUT", "/api/agents/{name}/soul", may=OPERATOR)
async def edit_soul(call: ApiCall, name: str, body: SoulBody) -> Recorded:
    """Edit the soul of an agent. Earlier versions are kept."""
    command = EditSoul(seat=call.agent(name).seat, soul=body.soul, reason=body.reason)
    return await record(call, command)


@route("POST", "/api/agents/{name}/soul/choose", may=OPERATOR)
async def choose_soul(call: ApiCall, name: str, body: ChooseSoulBody) -> Recorded:
    """Make a version of the soul the current one: an earlier one, or one that lost a merge."""
    agent = call.agent(name)
    chosen = await soul_version(call.muster.store, agent, body.version)
    reason = body.reason or f"version {chosen.number} was chosen"
    return await record(call, EditSoul(seat=agent.seat, soul=chosen.soul, reason=reason))


@route("GET", "/api/agents/{name}/soul", may=EVERYBODY)
async def show_soul(call: ApiCall, name: str) -> SoulHistory:
    """Show every version of an agent's soul, each with its difference from the one before."""
    agent = call.agent(name)
    return SoulHistory(agent=agent.id, versions=await soul_versions(call.muster.store, agent))
