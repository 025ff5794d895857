"""Every state with every command: each pair moves or refuses, and a refusal changes nothing."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import COMMANDS, Command
from muster.machines.documents import AgentDocument, HandedOver
from muster.machines.events import FACTS
from muster.machines.ids import (
    GRID_SEATS,
    LEAD_SEAT,
    ChannelId,
    ConversationId,
    NodeId,
    SeatId,
    SessionId,
    WorkspaceId,
)
from muster.machines.kernel.couplings import COUPLINGS
from muster.machines.kernel.fold import EVOLVERS
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.snapshots import decode, encode
from muster.machines.kernel.team import DECIDERS, decide
from muster.machines.policies import RunPolicy
from muster.machines.state import Node, Status, Team, TurnState
from muster.machines.vocabulary import (
    Activity,
    Authority,
    Awaits,
    Budget,
    ChangeCount,
    DelegationMode,
    DeliveryWay,
    FileChange,
    HandState,
    Outcome,
    PlanState,
    PlanStep,
    Remark,
    RestartPolicy,
    RunMode,
    SpeakerOrder,
    Taken,
    Usage,
    WorkspaceStep,
)
from tests.machines.identity import test_identity
from tests.machines.nodes import test_nodes
from tests.machines.scene import REVIEWS, Scene
from tests.machines.teams.papers import LATER, paper, said
from tests.machines.turns import test_turns

PM, NEW, SHOP = SeatId(9), ChannelId("new"), WorkspaceId("Ada")


def _identity(status: Status) -> Callable[[], Scene]:
    return lambda: test_identity.seated(status)


def _run(mode: RunMode, step: str) -> Callable[[], Scene]:
    def make() -> Scene:
        scene = Scene()
        scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
        scene.want("Lyra", mode)
        if step in ("up", "stopping", "failed") and mode is not RunMode.PAUSE:
            scene.up("Lyra")
        if step == "stopping":
            scene.want("Lyra", RunMode.PAUSE)
        if step == "failed" and mode is not RunMode.PAUSE:
            scene.ends("Lyra", Outcome.FAILED)
        return scene

    return make


def _steps(step: str) -> Callable[[], Scene]:
    """A channel that is put aside, has a claim, or whose selector is asked."""

    def make() -> Scene:
        scene = test_turns.trio()
        if step == "archived":
            scene.do(c.ArchiveChannel(channel=REVIEWS))
        if step == "claimed":
            scene.do(c.RaiseHand(channel=REVIEWS, seat=scene.seat("qa")))
        if step == "choosing":
            rules = e.TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="dev")
            scene.do(c.ConfigureChannel(channel=REVIEWS, config=rules))
            scene.complete("pm")
        return scene

    return make


def _turns(step: str) -> Callable[[], Scene]:
    def make() -> Scene:
        scene = test_turns.trio(e.TurnConfig(rest_after_idle_rounds=1))
        if step == "waiting":
            scene.do(c.WaitTurn(channel=REVIEWS, seat=PM, reason="tea"))
        if step == "resting":
            for name in ("pm", "dev", "qa"):
                scene.complete(name)
        if step == "lone":
            for name in ("dev", "qa"):
                scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat(name)))
            scene.complete("pm")
        if step == "empty":
            for name in ("pm", "dev", "qa"):
                scene.do(c.DisconnectAgent(seat=scene.seat(name), reason="left"))
        return scene

    return make


def _drain() -> Scene:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    scene.later(60)
    return scene


def _shutdown(seconds: float) -> Callable[[], Scene]:
    def make() -> Scene:
        scene = Scene()
        scene.running("Lyra", mode=RunMode.RUN_ONCE)
        scene.do(c.StopMuster(reason="test", drain_seconds=seconds))
        return scene

    return make


def _asking() -> Scene:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    session = scene.session("Lyra").id
    scene.do(c.RequestApproval(session=session, tool="Bash", detail="rm -r build", seconds=60))
    return scene


def _delegation(mode: DelegationMode, *, working: bool) -> Callable[[], Scene]:
    def make() -> Scene:
        scene = Scene()
        scene.do(c.StartDelegation(mode=mode, path="here", agents=("ada", "bob")))
        scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
        if working:
            conversation = ConversationId("conv_001")
            scene.do(c.Delegate(conversation=conversation, to="ada", trigger="fits"))
        return scene

    return make


def _nodes(step: str) -> Callable[[], Scene]:
    """An agent that stays and one that moves, with a second machine; perhaps one of them is away"""

    def make() -> Scene:
        return test_nodes.two_machines(lost=step == "lost")

    return make


STATES: dict[str, Callable[[], Scene]] = {
    "empty": Scene,
    **{f"identity {s}": _identity(s) for s in Status if s is not Status.UNKNOWN},
    **{
        f"run {mode} {step}": _run(mode, step)
        for mode in RunMode
        for step in ("asked", "up", "stopping", "failed")
    },
    "turns asking": _asking,
    **{f"turns {step}": _turns(step) for step in ("active", "waiting", "resting", "lone", "empty")},
    **{f"turns {step}": _steps(step) for step in ("archived", "claimed", "choosing")},
    "turns draining": _drain,
    "muster draining": _shutdown(60),
    "muster stopping": _shutdown(0),
    **{f"nodes {step}": _nodes(step) for step in ("two", "lost")},
    **{
        f"delegation {mode} {'working' if working else 'home'}": _delegation(mode, working=working)
        for mode in DelegationMode
        for working in (False, True)
    },
}


def tries(team: Team) -> Iterator[Command]:
    """Every command, for existing and for unknown agents."""
    sessions = [*sorted(team.sessions), SessionId("gone")]
    conversations = [ConversationId("conv_001"), ConversationId("conv_999")]
    channels = [*sorted(team.channels), ChannelId("nowhere")]
    seats = [*sorted(team.agents)[:4], SeatId(99)]
    yield c.StartMuster(server_session=SessionId("next"), muster_version="0")
    yield c.StartMuster(
        server_session=SessionId("next"), muster_version="0", paused=dict.fromkeys(seats, "")
    )
    yield c.StopMuster(reason="test")
    yield c.StopMuster(reason="test", drain_seconds=60)
    yield c.CheckShutdown()
    yield c.EndMuster(reason="test")
    yield from _node_tries(team)
    yield c.LogWarning(text="careful")
    yield c.RecordSettings(changes=("agents.ada added",))
    yield c.RejectSettings(line=3, what="there is no setting agents.ada.comand", remedy="Fix it.")
    yield c.ReportClockJump(seconds=3600, shift_seconds=3600, suspended_seconds=60)
    yield c.RecordRestore(backup_seq=3, made_at=datetime(2026, 2, 4, 21, tzinfo=UTC))
    yield test_identity.summon()
    yield c.EnrollAgent(name="newcomer", authority=Authority.MUSTER)
    yield c.RejectMarker(marker="[AGENT_STATUS]", reason="fence")
    yield c.CreateChannel(channel=NEW)
    yield c.CreateChannel(channel=NEW, members=tuple(seats[:-1]))
    yield c.WakeAgents()
    yield c.SleepAgents()
    yield c.ImportTeam(documents=tuple(_papers(team)), messages=(said(1), said(2)))
    for session in sessions:
        yield test_identity.register(session=session)
        yield test_identity.status(GRID_SEATS[0], session=session)
        yield c.ReportSessionStarted(session=session)
        yield c.ReportOutput(session=session, stream="stdout", text="hello")
        yield c.ReportResult(session=session)
        yield c.ReportSpending(session=session, usage=Usage(input_tokens=1))
        yield c.ReportActivity(session=session, kind=Activity.TOOL_CALL, name="Bash")
        yield c.ReportPlan(session=session, steps=(PlanStep(text="x", state=PlanState.DONE),))
        yield c.ReportTaken(session=session, how=Taken.STARTED, text="hello")
        yield c.RequestApproval(session=session, tool="Bash", detail="rm -r build", seconds=60)
        for outcome in Outcome:
            yield c.ReportSessionEnded(session=session, outcome=outcome)
    for seat in seats:
        yield c.RequestApproval(seat=seat, tool="Bash", detail="rm -r build", seconds=60)
        yield from _about(seat)
        for channel in channels:
            yield from _in(channel, seat)
    for conversation in conversations:
        yield from _of(conversation)
    for channel in channels:
        yield from _on(team, channel)
    for mode in DelegationMode:
        yield c.StartDelegation(mode=mode, path="here", agents=("ada",))
    for allow in (True, False):
        yield c.AnswerApproval(approval="4", allow=allow)
    yield c.RevokeToken(token_id="t")
    yield c.RotateToken(token_id="t", digest="rotated")
    yield c.SetUser(name="Zoe", role=e.Role.MEMBER)
    yield c.RemoveUser(name="Zoe")
    yield c.LogConversation(entry='{"conversation_id": "conv_900"}')
    yield c.AddDescriptions(agents=("new",))
    yield c.RememberChoice(text="more", to="ada", guess="MAIN")
    yield c.ForgetChoice(number=1)
    yield c.ForgetChoice()
    yield c.SettleNeed(key="failed:10:5")
    yield c.SettleNeed(key=f"message:{team.seq}", seconds=60)
    yield c.ReopenNeed(key="failed:10:5")
    yield c.EndDelegation()
    yield c.OpenConversation(text="more", speaker_name="Marcus")
    yield c.PlanWorkspace(workspace=SHOP, repository="/r", folder="/w", branch="b", base="c")
    yield c.ReportWorkspaceMade(workspace=SHOP, git_dir="/g")
    yield c.ReportWorkspaceChanges(workspace=SHOP, changes=ChangeCount(files=1))
    yield c.HandWorkspace(workspace=SHOP, conversation=ConversationId("conv_009"))
    for step in WorkspaceStep:
        yield c.BeginWorkspaceStep(workspace=SHOP, step=step, branch="main")
    yield c.ReportWorkspaceStep(workspace=SHOP, commit="d")
    yield c.ReportWorkspaceRemoved(workspace=SHOP, reason="empty")


def _papers(team: Team) -> Iterator[AgentDocument]:
    """Newer documents of all agents from another machine, and one of a new agent."""
    for seat in (*sorted(team.agents), SeatId(50)):
        yield paper(seat, f"Nova {seat}", born=-(10**6), alive=LATER, status="alive")


def _about(seat: SeatId) -> Iterator[Command]:
    yield c.SendMessage(text="hello", speaker_name="Marcus", seat=seat)
    yield c.DeliverMessages(seat=seat, upto=5)
    yield c.TellHuman(seat=seat, text="hello")
    yield c.MarkRead(seat=seat, upto=5)
    yield c.SeeMessages(seat=seat, upto=5)
    yield c.AllowMore(key="limit:reviews:1", turns=10)
    yield c.ReturnMessages(seat=seat, reason="its session failed")
    yield c.RetryMessages(seat=seat)
    yield c.InterruptWork(seat=seat)
    yield c.IssueToken(token_id="t", role=e.Role.AGENT, digest="d", seat=seat)
    yield c.ConnectAgent(seat=seat)
    yield c.DisconnectAgent(seat=seat, reason="left")
    yield c.AdoptSession(conversation=f"c-{seat}", folder="/project", pid=7, started="1")
    yield c.ReportHand(seat=seat, state=HandState.WORKING, about="the plan")
    yield c.KeepHand(seat=seat)
    yield c.DisableAgent(seat=seat)
    yield c.EnableAgent(seat=seat)
    yield c.Remember(seat=seat, text="the plan")
    yield c.EditNote(seat=seat, note=1, text="the new plan")
    yield c.ForgetNote(seat=seat, note=1)
    yield c.EditSoul(seat=seat, soul="another")
    for session in (SessionId("s-1"), SessionId("other")):
        yield c.RecordWake(seat=seat, session=session, handed=HandedOver(notes=1), asked=True)
        yield c.AnswerWakeCheck(seat=seat, session=session, name="Ada")
        yield c.EndWakeCheck(seat=seat, session=session)
    yield c.RetireAgent(seat=seat)
    yield c.RenameAgent(seat=seat, name="newcomer")
    yield c.DismissAgent(seat=seat)
    yield c.RestoreAgent(seat=seat)
    yield c.RestoreAgent(seat=seat, name="returner")
    yield c.RegainName(seat=seat)
    yield c.ExchangeNames(seats=(seat, SeatId(0)))
    for way in DeliveryWay:
        yield c.RouteMessage(seat=seat, message=1, way=way)
    yield c.ReportUsage(seat=seat, usage=e.Usage(cost_usd=1.0))
    yield c.CheckAgent(seat=seat)
    yield c.CheckSession(seat=seat)
    yield c.CheckApprovals(seat=seat)
    for authority in Authority:
        budget = Budget(sessions_per_hour=1, session_seconds=0.001, failures=1)
        yield c.ConfigureAgent(seat=seat, authority=authority, budget=budget)
    policy = RunPolicy(restart=RestartPolicy.NEVER, autostart=True, after=("Kael",))
    yield c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, policy=policy)
    yield c.AutostartAgent(seat=seat)
    yield c.CheckSchedule(seat=seat, wall=datetime(2026, 2, 4, 21, tzinfo=UTC))
    for now in (False, True):
        yield c.RestartAgent(seat=seat, set_by="Marcus", now=now)
    yield c.StartSession(seat=seat, trigger="test")
    for mode in RunMode:
        yield c.SetDesired(seat=seat, desired=mode, set_by="Marcus")
        yield c.ReportCurrent(seat=seat, current=mode)
    for problem, is_readable in (("it is a folder", False), ("no permission", True), ("", True)):
        yield c.ReportStateFile(seat=seat, problem=problem, is_readable=is_readable)


def _in(channel: ChannelId, seat: SeatId) -> Iterator[Command]:
    yield c.ConfigureMember(channel=channel, seat=seat, timeout_seconds=5)
    yield c.RaiseHand(channel=channel, seat=seat)
    yield c.RaiseHand(channel=channel, seat=seat, raised=False)
    yield c.AddMember(channel=channel, seat=seat)
    yield c.RemoveMember(channel=channel, seat=seat)
    yield c.Speak(channel=channel, seat=seat, text="word")
    yield c.Speak(channel=channel, seat=seat, text="word", complete=True, to=PM)
    yield c.CompleteTurn(channel=channel, seat=seat, epoch=1)
    yield c.WaitTurn(channel=channel, seat=seat, reason="tea")
    yield c.WaitTurn(channel=channel, seat=seat, reason="tea", awaits=Awaits.RESUME)
    yield c.ResumeTurn(channel=channel, seat=seat)
    yield c.EndForgottenTurn(channel=channel, seat=seat)
    yield c.RenewTurn(channel=channel, seat=seat)
    yield c.AwaitApproval(channel=channel, seat=seat)
    usage = e.Usage(output_tokens=5)
    yield c.ReportUsage(seat=seat, usage=usage, channel=channel)
    yield c.ReportWorkStopped(channel=channel, seat=seat)
    for to in TurnState:
        yield c.OverrideTurn(channel=channel, seat=seat, to=to)


def _on(team: Team, channel: ChannelId) -> Iterator[Command]:
    yield c.ConfigureChannel(channel=channel, config=e.TurnConfig(announce_timeouts=False))
    yield c.ConfigureChannel(channel=channel, config=e.TurnConfig(turns_per_message=1))
    yield c.ArchiveChannel(channel=channel)
    yield c.ArchiveChannel(channel=channel, archived=False)
    yield c.OrderRing(channel=channel, seats=(SeatId(99),))
    yield c.PostMessage(channel=channel, text="hello", speaker_name="Marcus")
    yield c.PostMessage(channel=channel, text="@qa hello", speaker_name="Marcus")
    yield c.CheckChannel(channel=channel)
    if channel in team.channels:
        yield c.OrderRing(channel=channel, seats=team.channels[channel].ring[::-1])
        yield c.OfferTurn(channel=channel)


def _of(conversation: ConversationId) -> Iterator[Command]:
    for to in ("ada", "bob", "MAIN", "nobody"):
        yield c.Delegate(conversation=conversation, to=to, trigger="fits")
        yield c.HandOff(conversation=conversation, epoch=1, to=to, reason="help")
    for to in ("ada", "MAIN", "nobody"):
        yield c.RecordRoute(
            conversation=conversation,
            to=to,
            confidence=0.9,
            rule="score",
            reason="fits",
            router="lexical",
        )
    yield c.DenyPermission(conversation=conversation, rule="main.write", reason="no")
    for text in ("hm", ""):
        yield c.RecordDialogue(
            conversation=conversation, speaker="ada", kind=Remark.THINKING, text=text
        )
    yield c.RecordFile(
        conversation=conversation, path="a.md", change=FileChange.CREATED, size=1, sha256="ab"
    )
    yield c.RecordProgress(conversation=conversation, what="a file")
    yield c.FinishTask(conversation=conversation, epoch=1)
    yield c.CloseConversation(conversation=conversation, summary="done")
    yield c.CloseConversation(conversation=conversation, summary="nothing", failed=True)
    yield c.CancelConversation(conversation=conversation)


def _node_tries(team: Team) -> Iterator[Command]:
    for node in (*team.nodes.values(), Node(name=NodeId("box"), life=SessionId("b"), since=1)):
        yield c.LoseNode(node=node.name, life=node.life, term=node.term)
        yield c.ReturnNode(node=node.name, life=node.life)
        yield c.ReportDisk(node=node.name, is_low=True, free_bytes=4096)
        yield c.ReportDisk(node=node.name, is_low=False, free_bytes=2**30)
        for seat in (*team.agents, SeatId(77)):
            yield c.MoveAgent(seat=seat, node=node.name)
            yield c.MoveAgent(seat=seat, node=node.name, anyway=True)


COUPLED = {c.Arrive, c.Depart, c.Awaken, c.Doze, c.StopSession, c.WithdrawApprovals}
"""Commands that only couplings send, for existing agents."""


@pytest.mark.parametrize("state", STATES)
def test_every_command_moves_or_refuses_and_a_refusal_leaves_the_state_equal(state: str) -> None:
    scene = STATES[state]()
    before = encode(scene.team)
    tried: set[type[Command]] = set()
    for command in tries(scene.team):
        tried.add(type(command))
        with suppress(Refused):
            decision = decide(
                scene.team, command, scene.now, actor="person:Marcus", life=scene.life
            )
            assert list(violations(decision.team)) == [], command
        assert encode(scene.team) == before, f"{command} changed the state that it was decided on"
    assert tried | COUPLED == set(COMMANDS) - ({c.OfferTurn} if not scene.team.channels else set())
    assert decode(before) == scene.team


def test_every_command_has_a_decider_and_every_fact_an_evolver() -> None:
    assert set(DECIDERS) == set(COMMANDS)
    assert set(EVOLVERS) | {e.StateTransition} == set(FACTS)


def test_every_coupling_says_why() -> None:
    assert all(rule.why.endswith(".") for rule in COUPLINGS.values())


def test_the_lead_is_at_the_centre_of_the_grid() -> None:
    assert LEAD_SEAT not in GRID_SEATS
    assert len(GRID_SEATS) == 8
