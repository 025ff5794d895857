"""Markers in the output of a session: what the JSON after each of them asks for."""

from typing import NamedTuple

import msgspec

from muster.errors import NotFound
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import SeatId, SessionId
from muster.machines.names import seat_known_as
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


class Markers(NamedTuple):
    """The markers of one session.

    With `hosts`, an agent that is registered gets a session of its own. A lead's report answers the
    orders up to `answers_upto`.
    """

    seat: SeatId
    session: SessionId
    hosts: bool
    answers_upto: int

    def command(self, name: str, body: str, team: Team) -> Command:
        """The command that a marker stands for.

        Raises `DecodeError` or `ValueError` if the body is malformed, `NotFound` for words of an
        agent that the team does not have.
        """
        data = body.encode()
        match name:
            case "AGENT_REGISTERED":
                profile = msgspec.json.decode(data, type=Profile)
                return c.RegisterAgent(profile=profile, session=self.session, hosted=self.hosts)
            case "AGENT_REMEMBERS":
                noted = msgspec.json.decode(data, type=Noted)
                return c.Remember(seat=self.seat, text=noted.text)
            case "AGENT_AWAKE":
                awake = msgspec.json.decode(data, type=Awake)
                return c.AnswerWakeCheck(
                    seat=self.seat, session=self.session, name=awake.name, soul=awake.soul
                )
            case "AGENT_SAYS":
                return self._passed_on(msgspec.json.decode(data, type=PassedOn), team)
            case _:
                report = msgspec.json.decode(data, type=Report)
                return c.ReportStatus(
                    agents=report.agents, session=self.session, answers_upto=self.answers_upto
                )

    def _passed_on(self, said: PassedOn, team: Team) -> Command:
        seat = seat_known_as(team, said.name)  # a lead may have been told a former name
        if seat is None:
            raise NotFound(kind="agent", name=said.name)
        return c.TellHuman(seat=seat, text=said.text, session=self.session)
