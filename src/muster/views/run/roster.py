"""The team in a few words. An `AgentView` of each agent would take four times as long."""

from muster.machines.ids import SeatId
from muster.machines.state import Agent, Status, Team
from muster.views.answers.roster import RosterLine, TeamRoster
from muster.views.run.badges import badge_of


def view_roster(team: Team, you: SeatId | None) -> TeamRoster:
    """The agents of a team that have a name, in the order of their seats."""
    agents = (team.agents[seat] for seat in sorted(team.agents))
    shown = [each for each in agents if each.status is not Status.NONE and not each.retired]
    return TeamRoster(
        human=team.human,
        you=None if you is None else team.agents[you].id,
        agents=tuple(_line(team, each, you) for each in shown if each.name),
    )


def _line(team: Team, agent: Agent, you: SeatId | None) -> RosterLine:
    badge = badge_of(team, agent)
    return RosterLine(
        name=agent.id,
        status=badge.status,
        turn=team.turn_state(agent),
        line=badge.line,
        channels={str(name): team.channels[name].state_of(agent.seat) for name in agent.channels},
        desired=agent.run.desired,
        role=agent.role,
        is_you=agent.seat == you,
    )
