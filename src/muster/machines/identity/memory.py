"""Memory that outlasts a session: the notes of an agent, and edits of its soul.

An agent notes what it wants to know in every later life; people may add, edit and delete notes. A
soul is the agent's own text: only people edit it, each edit is a fact with its reason, and the
first version stays in the log for ever.
"""

from collections.abc import Sequence
from datetime import datetime

from muster import limits
from muster.errors import Invalid, MemoryFull, NotFound, NotTheAuthority, WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.bounds import check_soul
from muster.machines.events import Fact
from muster.machines.ids import SeatId, agent_actor, is_agent
from muster.machines.state import Agent, MemoryNote, Team


def remember(team: Team, command: c.Remember, now: datetime) -> Sequence[Fact]:
    agent = _named(team, command.seat, "remember something for")
    text = _checked(command.text)
    _check_room(agent, text)
    return (e.NoteRemembered(seat=agent.seat, note=agent.next_note, text=text),)


def edit_note(team: Team, command: c.EditNote, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    before, text = _note(agent, command.note), _checked(command.text)
    if text == before.text:
        return ()
    _check_room(agent, text, but=before)
    return (e.NoteEdited(seat=agent.seat, note=before.id, text=text),)


def forget_note(team: Team, command: c.ForgetNote, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    return (e.NoteForgotten(seat=agent.seat, note=_note(agent, command.note).id),)


def edit_soul(team: Team, command: c.EditSoul, now: datetime) -> Sequence[Fact]:
    agent = _named(team, command.seat, "edit the soul of")
    check_soul("the soul", command.soul)
    if not command.soul.strip():
        raise Invalid(what="the soul", why="is empty")
    if command.soul == agent.soul:
        return ()
    return (e.SoulEdited(seat=agent.seat, soul=command.soul, reason=command.reason),)


def _named(team: Team, seat: SeatId, act: str) -> Agent:
    agent = team.agent(seat)
    if agent.name is None:
        raise WrongState(act=act, name=agent.id, state=agent.status)
    return agent


def _note(agent: Agent, number: int) -> MemoryNote:
    found = next((each for each in agent.notes if each.id == number), None)
    if found is None:
        raise NotFound(kind=f"note of {agent.id!r}", name=str(number))
    return found


def _checked(text: str) -> str:
    """The text of a note, without spaces around it."""
    text = text.strip()
    if not text:
        raise Invalid(what="the note", why="is empty")
    if _size(text) > limits.NOTE_BYTES_MAX:
        raise Invalid(what="the note", why=f"is over {limits.NOTE_BYTES_MAX} bytes")
    return text


def _check_room(agent: Agent, text: str, but: MemoryNote | None = None) -> None:
    """Refuse a note that does not fit beside the others."""
    others = [each for each in agent.notes if each is not but]
    size = sum(_size(each.text) for each in others) + _size(text)
    if len(others) >= limits.NOTES_MAX or size > limits.NOTES_BYTES_MAX:
        raise MemoryFull(name=agent.id, notes=limits.NOTES_MAX, size=limits.NOTES_BYTES_MAX // 1024)


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


# ── who may ───────────────────────────────────────────────────────────────────────────────────────


def check_own(team: Team, command: c.Remember | c.ForgetNote, actor: str) -> None:
    """An agent notes and forgets for itself alone."""
    agent = team.agent(command.seat)
    if is_agent(actor) and actor != agent_actor(agent.id):
        raise NotTheAuthority(claimant=actor, name=agent.id, authority="it alone")


def check_edit_note(team: Team, command: c.EditNote, actor: str) -> None:
    """Only people edit notes; an agent forgets one and notes another."""
    refuse_agent(actor, "edit a note")


def check_edit_soul(team: Team, command: c.EditSoul, actor: str) -> None:
    """Only people edit souls."""
    refuse_agent(actor, "edit a soul")
