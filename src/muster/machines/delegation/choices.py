"""Choices of people: the agent that a person chose for a request, remembered for routing."""

from collections.abc import Sequence
from datetime import datetime

from muster.errors import NotFound
from muster.limits import CHOICE_CHARS_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.delegation.decide import open_session, require_agent
from muster.machines.events import Fact
from muster.machines.state import MAIN, Team
from muster.machines.turns.messages import check_text


def remember_choice(team: Team, command: c.RememberChoice, now: datetime) -> Sequence[Fact]:
    delegation = open_session(team)
    check_text(command.text)
    if command.to != MAIN:
        require_agent(delegation, command.to)
    choice = e.ChoiceRemembered(
        number=delegation.choices_made + 1,
        text=command.text[:CHOICE_CHARS_MAX],
        to=command.to,
        guess=command.guess[:CHOICE_CHARS_MAX],
    )
    return (choice,)


def forget_choice(team: Team, command: c.ForgetChoice, now: datetime) -> Sequence[Fact]:
    known = [each.number for each in team.delegation.choices]
    if command.number is not None and command.number not in known:
        raise NotFound(kind="remembered choice", name=str(command.number))
    return (e.ChoiceForgotten(number=command.number),) if known else ()


def check_chooses(team: Team, command: c.RememberChoice | c.ForgetChoice, actor: str) -> None:
    """Only people teach the router: an agent could otherwise direct work to itself."""
    refuse_agent(actor, "teach the router")
