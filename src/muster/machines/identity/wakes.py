"""The record of a wake, and the check that a woken agent knows who it is.

The check costs no model of muster's: the agent is asked in its first prompt for its name and for
the first line of its soul, and the answer is compared with both. An answer that comes after the
first result of the session still counts; a second one does not.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.errors import WrongState
from muster.limits import WAKE_LINE_CHARS_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import WakeCheck
from muster.machines.events import Fact
from muster.machines.ids import name_key
from muster.machines.state import Agent, Team

_OPEN: Final = (WakeCheck.ASKED, WakeCheck.NO_ANSWER)
"""The outcomes that an answer may replace."""


def record_wake(team: Team, command: c.RecordWake, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.session != command.session:
        raise WrongState(act="record the wake of", name=agent.id, state="in another session")
    fact = e.WakeRecorded(
        seat=agent.seat, session=command.session, handed=command.handed, asked=command.asked
    )
    return (fact,)


def answer_wake_check(team: Team, command: c.AnswerWakeCheck, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    wake = agent.last_wake
    if wake is None or wake.session != command.session or wake.check not in _OPEN:
        raise WrongState(act="check the wake of", name=agent.id, state="not asked who it is")
    same = _is_name(agent, command.name) and _is_soul(agent, command.soul)
    fact = e.WakeChecked(
        seat=agent.seat,
        session=command.session,
        outcome=WakeCheck.MATCHED if same else WakeCheck.DIFFERED,
        name=_line(command.name),
        soul=_line(command.soul),
    )
    return (fact,)


def end_wake_check(team: Team, command: c.EndWakeCheck, now: datetime) -> Sequence[Fact]:
    if not is_asked(team.agent(command.seat), command.session):
        return ()
    outcome = WakeCheck.NO_ANSWER
    return (e.WakeChecked(seat=command.seat, session=command.session, outcome=outcome),)


def is_asked(agent: Agent, session: str) -> bool:
    """Whether an agent was asked in this session who it is, and has not answered."""
    wake = agent.last_wake
    return wake is not None and wake.session == session and wake.check is WakeCheck.ASKED


def first_line(text: str) -> str:
    """The first line of a text that is not empty, as it is compared."""
    lines = (_line(line) for line in text.splitlines())
    return next((line for line in lines if line), "")


def _line(text: str) -> str:
    return " ".join(text.split())[:WAKE_LINE_CHARS_MAX]


def _is_name(agent: Agent, said: str) -> bool:
    return name_key(_line(said)) == name_key(agent.id)


def _is_soul(agent: Agent, said: str) -> bool:
    """Whether it is the first line of the soul, as written or as its XML spells it."""
    plain = said.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return first_line(agent.soul) in (first_line(said), first_line(plain))
