"""Markers in the output of a session: what the JSON after each of them asks for."""

import msgspec

from muster.errors import NotFound
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import SeatId, SessionId, name_key
from muster.machines.state import Team
from muster.machines.vocabulary import Profile, StatusEntry


class Report(msgspec.Struct, frozen=True):
    """The JSON after the marker `[AGENT_STATUS]`."""

    agents: tuple[StatusEntry, ...]


class Noted(msgspec.Struct, frozen=True):
    """The JSON after the marker `[AGENT_REMEMBERS]`."""

    text: str


class Awake(msgspec.Struct, frozen=True):
    """The JSON after the marker `[AGENT_AWAKE]`."""

    name: str
    soul: str = ""


class PassedOn(msgspec.Struct, frozen=True):
    """The JSON after the marker `[AGENT_SAYS]`: words of an agent inside its lead's session."""

    name: str
    text: str


def command_of(
    name: str,
    body: str,
    seat: SeatId,
    session: SessionId,
    *,
    team: Team,
    hosts: bool,
    answers_upto: int,
) -> Command:
    """The command that a marker stands for, in a session of this seat.

    With `hosts`, an agent that is registered gets a session of its own. A lead's report answers the
    direct messages up to `answers_upto`. Raises `DecodeError` or
    `ValueError` if the body is malformed.
    """
    if name == "AGENT_REGISTERED":
        profile = msgspec.json.decode(body.encode(), type=Profile)
        return c.RegisterAgent(profile=profile, session=session, hosted=hosts)
    if name == "AGENT_REMEMBERS":
        noted = msgspec.json.decode(body.encode(), type=Noted)
        return c.Remember(seat=seat, text=noted.text)
    if name == "AGENT_AWAKE":
        awake = msgspec.json.decode(body.encode(), type=Awake)
        return c.AnswerWakeCheck(seat=seat, session=session, name=awake.name, soul=awake.soul)
    if name == "AGENT_SAYS":
        return _passed_on(msgspec.json.decode(body.encode(), type=PassedOn), session, team)
    report = msgspec.json.decode(body.encode(), type=Report)
    return c.ReportStatus(agents=report.agents, session=session, answers_upto=answers_upto)


def _passed_on(said: PassedOn, session: SessionId, team: Team) -> Command:
    seat = team.names.get(name_key(said.name))
    if seat is None:
        raise NotFound(kind="agent", name=said.name)
    return c.TellHuman(seat=seat, text=said.text, session=session)
