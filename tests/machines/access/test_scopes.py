"""Scopes: which commands a member with a scope may send."""

import pytest

from muster.errors import Forbidden
from muster.machines import commands as c
from muster.machines.access.scopes import check_scope, narrowed
from muster.machines.access.users import in_force
from muster.machines.commands import Command
from muster.machines.ids import LEAD_SEAT, ChannelId, ConversationId, SeatId, agent_actor
from muster.machines.kernel.sentences import sentence
from muster.machines.needs.needs import all_needs
from muster.machines.state import TurnState
from muster.machines.turns.privacy import channels_let_into
from muster.machines.vocabulary import Role, RunMode, Scope
from tests.machines.scene import Scene
from tests.machines.turns.test_turns import trio

ROOM = ChannelId("reviews")


def scoped(scene: Scene, *names: str, channels: tuple[ChannelId, ...] = ()) -> Scope:
    return Scope(agents=tuple(scene.seat(name) for name in names), channels=channels)


def permits(scene: Scene, scope: Scope | None, command: Command) -> bool:
    try:
        check_scope(scene.team, scope, command, scene.now)
    except Forbidden:
        return False
    return True


def of_agent(seat: SeatId) -> list[Command]:
    return [
        c.SendMessage(text="x", speaker_name="Ada", seat=seat),
        c.SetDesired(seat=seat, desired=RunMode.PAUSE, set_by="Ada"),
        c.RestartAgent(seat=seat, set_by="Ada"),
        c.InterruptWork(seat=seat),
        c.RetryMessages(seat=seat),
        c.WakeAgents(seats=(seat,)),
        c.SleepAgents(seats=(seat,)),
        c.SeeMessages(upto=1, seat=seat),
    ]


def of_channel(channel: ChannelId, seat: SeatId) -> list[Command]:
    return [
        c.PostMessage(channel=channel, text="x", speaker_name="Ada"),
        c.ResumeTurn(channel=channel, seat=seat),
        c.OverrideTurn(channel=channel, seat=seat, to=TurnState.QUEUED),
        c.SeeMessages(upto=1, channel=channel),
    ]


WHOLE: list[Command] = [
    c.WakeAgents(),
    c.SleepAgents(),
    c.SendMessage(text="to the lead", speaker_name="Ada"),
    c.CancelConversation(conversation=ConversationId("conv_1")),
    c.SetUser(name="Ada", role=Role.OPERATOR),
    c.SettleNeed(key="none"),
    c.ReopenNeed(key="none"),
    c.AllowMore(key="none", turns=1),
]
"""About the whole team, or about nothing that is there."""


def test_a_scope_permits_acts_on_what_it_names_and_on_nothing_else() -> None:
    scene = trio()
    pm, dev = scene.seat("pm"), scene.seat("dev")
    only_pm, only_room = scoped(scene, "pm"), scoped(scene, channels=(ROOM,))
    for command in of_agent(pm):
        assert permits(scene, only_pm, command)
        assert not permits(scene, only_room, command)
    for command in of_agent(dev):
        assert not permits(scene, only_pm, command)
    for command in of_channel(ROOM, pm):
        assert permits(scene, only_room, command)
        assert not permits(scene, only_pm, command)
    for command in (*of_channel(ChannelId("other"), pm), *of_agent(SeatId(99)), *WHOLE):
        assert not permits(scene, scoped(scene, "pm", "dev", channels=(ROOM,)), command)
        assert permits(scene, None, command)
    assert permits(scene, Scope(agents=(LEAD_SEAT,)), WHOLE[2])
    assert permits(scene, Scope(), c.SeeMessages(upto=1))  # a look at the team is one's own


def test_a_need_is_of_its_agent_or_its_channel_also_when_it_was_seen() -> None:
    scene = trio()
    pm = scene.seat("pm")
    for name in ("dev", "pm"):  # the one that is looked for is not the first
        scene.do(c.TellHuman(seat=scene.seat(name), text="Done?"), actor=agent_actor(name))
    [key] = [each.key for each in all_needs(scene.team, scene.now) if each.seat == pm]
    for command in (c.SettleNeed(key=key), c.ReopenNeed(key=key)):
        assert permits(scene, scoped(scene, "pm"), command)
        assert not permits(scene, scoped(scene, "dev"), command)
        if isinstance(command, c.SettleNeed):
            scene.do(command)  # seen: it is no need any more
            assert not [each for each in all_needs(scene.team, scene.now) if each.seat == pm]


def test_a_scope_is_a_members_and_names_what_is_there() -> None:
    scene = trio()
    scope = scoped(scene, "pm", channels=(ROOM,))
    scene.refuse(c.SetUser(name="Ada", role=Role.VIEWER, scope=scope), "invalid")
    for wrong in (Scope(agents=(SeatId(99),)), Scope(channels=(ChannelId("none"),))):
        scene.refuse(c.SetUser(name="Ada", role=Role.MEMBER, scope=wrong), "not_found")
    scene.do(c.SetUser(name="Ada", role=Role.MEMBER, scope=scope))
    assert channels_let_into(scene.team, "ada") == (ROOM,)
    assert channels_let_into(scene.team, "") == channels_let_into(scene.team, "Bo") == ()
    assert "member for pm, #reviews" in sentence(scene.log[-1], scene.team)
    scene.do(c.SetUser(name="Ada", role=Role.MEMBER))
    assert channels_let_into(scene.team, "Ada") == ()


def test_a_token_grants_what_its_scope_and_its_users_both_permit() -> None:
    scene = trio()
    scene.do(c.SetUser(name="Ada", role=Role.MEMBER, scope=scoped(scene, "pm", "dev")))
    own = scoped(scene, "dev", channels=(ROOM,))
    token = c.IssueToken(token_id="t", role=Role.MEMBER, digest="d", user="Ada", scope=own)
    scene.do(token)
    assert in_force(scene.team, scene.team.tokens["d"]).scope == scoped(scene, "dev")
    refused = c.IssueToken(token_id="u", role=Role.OPERATOR, digest="e", scope=own)
    scene.refuse(refused, "invalid")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (None, None, None),
        (Scope(), None, Scope()),
        (None, Scope(), Scope()),
        (Scope(agents=(SeatId(1),)), Scope(agents=(SeatId(2),)), Scope()),
    ],
)
def test_an_empty_scope_is_nothing_and_none_is_the_whole_team(
    one: Scope | None, other: Scope | None, both: Scope | None
) -> None:
    assert narrowed(one, other) == both
