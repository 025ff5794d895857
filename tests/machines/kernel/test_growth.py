"""The work for one agent does not grow with the team: function calls are counted, not seconds."""

from cProfile import Profile

from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.kernel.team import decide
from muster.machines.policies import RunPolicy
from muster.machines.state import Team
from muster.machines.vocabulary import Authority
from tests.simulation.explore import START

LIFE = SessionId("boot")

SMALL, LARGE = 200, 800


def _founding(agents: int) -> list[Command]:
    """Agents in channels of ten that are up; one starts after another."""
    commands: list[Command] = [
        c.StartMuster(server_session=LIFE, muster_version="grown"),
        c.EnrollAgent(name="follower", authority=Authority.MUSTER),
        c.ConfigureAgent(
            seat=SeatId(9), authority=Authority.MUSTER, policy=RunPolicy(after=("a10",))
        ),
    ]
    for number in range(agents):
        seat, channel = SeatId(10 + number), ChannelId(f"c{number // 10}")
        if number % 10 == 0:
            commands.append(c.CreateChannel(channel=channel))
        commands += [
            c.EnrollAgent(name=f"a{seat}", authority=Authority.SELF),
            c.ConnectAgent(seat=seat),
            c.AddMember(channel=channel, seat=seat),
        ]
    commands += [
        c.DisconnectAgent(seat=SeatId(10 + number), reason="left") for number in range(agents)
    ]
    return commands


def _calls(agents: int) -> float:
    """The function calls for one agent."""
    team = Team()
    profile = Profile()
    for command in _founding(agents):
        profile.enable()
        team = decide(team, command, START, actor="muster", life=LIFE).team
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats()) / agents


def test_the_work_for_one_agent_is_the_same_in_a_large_team() -> None:
    assert _calls(LARGE) < 1.3 * _calls(SMALL)
