"""Machines of one team: joining, leaving, being lost and coming back; agents that move or stay."""

from datetime import timedelta

from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import HERE, ConversationId, NodeId, SessionId
from muster.machines.policies import RunPolicy
from muster.machines.state import Status, TurnState
from muster.machines.vocabulary import Authority, DelegationMode, Outcome, RunMode, Urgency
from tests.machines.scene import Scene, facts

DESK, BOX = NodeId("desk"), NodeId("gpu-box")
STAYS, MOVES = RunPolicy(), RunPolicy(moves=True)


def belongs(scene: Scene, name: str, node: NodeId, policy: RunPolicy = STAYS) -> list[Event]:
    """The settings of a node name an agent."""
    return scene.do(
        c.ConfigureAgent(
            seat=scene.seat(name),
            authority=Authority.MUSTER,
            long_lived=True,
            policy=policy,
            node=node,
        )
    )


def agent_on(scene: Scene, name: str, node: NodeId, policy: RunPolicy = STAYS) -> None:
    """An agent that muster runs, which belongs to a node."""
    scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER, long_lived=True))
    belongs(scene, name, node, policy)
    scene.want(name, RunMode.CONTINUOUS)


def two_machines(*, lost: bool = False) -> Scene:
    """Ada stays on the desk and Mia may move from it; perhaps the desk is lost."""
    scene = Scene()
    scene.do(c.EndMuster(reason="moved to a database"))
    scene.join(DESK)
    agent_on(scene, "Ada", DESK)
    agent_on(scene, "Mia", DESK, MOVES)
    scene.up("Ada")
    scene.up("Mia")
    scene.join(BOX)
    if lost:
        lose(scene, DESK)
    return scene


def lose(scene: Scene, node: NodeId) -> list[Event]:
    found = scene.team.nodes[node]
    return scene.do(c.LoseNode(node=node, life=found.life, term=found.term), actor="muster")


def give_back(scene: Scene, node: NodeId) -> list[Event]:
    return scene.do(c.ReturnNode(node=node, life=scene.team.nodes[node].life), actor="muster")


def node_of(scene: Scene, name: str) -> NodeId:
    return scene.session(name).node


# ── one machine ───────────────────────────────────────────────────────────────────────────────────


def test_one_machine_is_the_node_here_and_its_events_do_not_name_it() -> None:
    scene = Scene()
    scene.running("Ada")
    assert list(scene.team.nodes) == [HERE]
    assert (scene.session("Ada").node, scene.session("Ada").boot) == (HERE, scene.life)
    assert scene.session("Ada").id.startswith(f"{scene.life}-")


def test_a_machine_that_stops_in_order_leaves_and_nothing_starts_without_one() -> None:
    scene = Scene()
    scene.running("Ada")
    scene.do(c.StopMuster(reason="test"))
    scene.ends("Ada")
    scene.do(c.EndMuster(reason="test"))
    assert dict(scene.team.nodes) == {}
    assert not scene.team.is_running
    scene.refuse(c.StartSession(seat=scene.seat("Ada"), trigger="test"), "stopping")
    scene.boot()
    assert scene.session("Ada").boot == scene.life


def test_a_stop_of_an_earlier_life_does_not_stop_the_present_one() -> None:
    scene = Scene()
    earlier = scene.life
    scene.boot()
    assert scene.do(c.StopMuster(reason="late", life=earlier)) == []
    assert scene.do(c.EndMuster(reason="late", life=earlier)) == []
    assert scene.do(c.StopMuster(reason="elsewhere", node=BOX)) == []
    assert scene.do(c.CheckShutdown(node=BOX)) == []
    assert scene.do(c.StopMuster(reason="now", life=scene.life))


# ── placement ─────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_runs_on_the_node_that_it_belongs_to() -> None:
    scene = two_machines()
    agent_on(scene, "Ben", BOX)
    assert (node_of(scene, "Ada"), node_of(scene, "Ben")) == (DESK, BOX)
    assert scene.session("Ben").id.startswith(f"{scene.team.nodes[BOX].life}-")


def test_an_agent_that_belongs_nowhere_runs_on_the_emptiest_node_then_on_the_oldest() -> None:
    scene = Scene()
    scene.do(c.EndMuster(reason="moved to a database"))
    scene.join(DESK)
    scene.join(BOX)
    scene.running("Ann", "Bob", "Cas")
    assert [node_of(scene, name) for name in ("Ann", "Bob", "Cas")] == [DESK, BOX, DESK]


def test_an_agent_that_needs_a_label_runs_only_where_that_is() -> None:
    scene = two_machines()
    scene.do(c.EnrollAgent(name="Gus", authority=Authority.MUSTER, long_lived=True))
    belongs(scene, "Gus", DESK, RunPolicy(moves=True, needs=("gpu",)))
    scene.want("Gus", RunMode.CONTINUOUS)
    start = c.StartSession(seat=scene.seat("Gus"), trigger="test")
    assert "lacks one of the labels gpu" in str(scene.refuse(start, "no_node"))
    lose(scene, DESK)
    assert "no node with the labels gpu is here" in str(scene.refuse(start, "no_node"))
    scene.join(NodeId("server"), labels=("gpu", "big"))
    assert node_of(scene, "Gus") == "server"


def test_a_full_node_takes_the_next_agent_when_a_session_ends() -> None:
    scene = Scene()
    scene.do(c.EndMuster(reason="moved to a database"))
    scene.join(DESK, room=1)
    scene.running("Ann")
    scene.do(c.EnrollAgent(name="Bob", authority=Authority.MUSTER, long_lived=True))
    scene.want("Bob", RunMode.CONTINUOUS)
    full = scene.refuse(c.StartSession(seat=scene.seat("Bob"), trigger="test"), "no_node")
    assert "every node that may run it is full" in str(full)
    scene.want("Ann", RunMode.PAUSE)
    scene.ends("Ann")
    assert node_of(scene, "Bob") == DESK


def test_an_agent_goes_on_in_its_own_place_on_a_full_node() -> None:
    scene = Scene()
    scene.do(c.EndMuster(reason="moved to a database"))
    scene.join(DESK, room=1)
    scene.running("Ann")
    scene.later(10)
    first = scene.session("Ann").id
    scene.ends("Ann")
    assert scene.session("Ann").id != first


def test_a_retry_without_a_node_waits_for_one() -> None:
    scene = two_machines()
    scene.ends("Ada", Outcome.CRASHED)
    lose(scene, DESK)
    deferred = facts(scene.later(3600), e.StartDeferred)
    assert deferred == [e.StartDeferred(seat=scene.seat("Ada"))]
    assert scene.agent("Ada").run.current is RunMode.PAUSE
    give_back(scene, DESK)
    assert node_of(scene, "Ada") == DESK


def test_a_task_runs_where_its_conversation_was_opened() -> None:
    scene = two_machines()
    orchestrator = DelegationMode.ORCHESTRATOR
    scene.do(c.StartDelegation(mode=orchestrator, path="p", agents=("zoe",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Ann"))
    one = ConversationId("conv_001")
    scene.do(c.Delegate(conversation=one, to="zoe", trigger="fits", seconds=60))
    [session] = scene.agent("zoe").tasks
    assert scene.team.sessions[session].node == BOX
    scene.join(NodeId("third"))
    assert scene.team.delegation.conversations[one].session == session


def test_a_conversation_fails_when_the_life_that_leads_it_is_over() -> None:
    scene = two_machines()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="p", agents=("zoe",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Ann"))
    assert facts(scene.join(NodeId("third")), e.ConversationEnd) == []
    [end] = facts(scene.join(BOX), e.ConversationEnd)
    assert end.outcome == "failed"


# ── lost and back ─────────────────────────────────────────────────────────────────────────────────


def test_a_lost_node_loses_who_may_move_and_keeps_who_stays() -> None:
    scene = two_machines()
    before = {name: scene.session(name).id for name in ("Ada", "Mia")}
    [lost] = facts(lose(scene, DESK), e.SessionEnd)
    assert (lost.session, lost.outcome) == (before["Mia"], Outcome.LOST)
    assert (node_of(scene, "Mia"), scene.session("Ada").id) == (BOX, before["Ada"])
    assert scene.agent("Mia").run.failures == 0
    assert scene.agent("Mia").run.retry_at is None
    assert scene.team.shown_status(scene.agent("Ada")) is Status.UNKNOWN


def test_a_node_is_lost_once_and_in_its_life_only() -> None:
    scene = two_machines()
    life = scene.team.nodes[DESK].life
    assert scene.do(c.LoseNode(node=DESK, life=SessionId("another"), term=0)) == []
    assert scene.do(c.LoseNode(node=NodeId("nobody"), life=life, term=0)) == []
    assert facts(lose(scene, DESK), e.NodeLost)
    assert lose(scene, DESK) == []


def test_a_node_that_is_back_goes_on_with_who_stayed() -> None:
    scene = two_machines()
    scene.channel_of("Ada")
    kept = scene.session("Ada").id
    lose(scene, DESK)
    assert facts(give_back(scene, DESK), e.NodeReturned)
    assert scene.session("Ada").id == kept
    assert scene.team.shown_status(scene.agent("Ada")) is Status.ALIVE
    assert node_of(scene, "Mia") == BOX  # it stays until its session ends


def test_a_node_that_is_back_is_not_given_up_for_the_term_before() -> None:
    scene = two_machines()
    life = scene.team.nodes[DESK].life
    assert facts(give_back(scene, DESK), e.NodeReturned)  # its lease was over, and nobody noticed
    assert scene.do(c.LoseNode(node=DESK, life=life, term=0)) == []
    assert facts(lose(scene, DESK), e.NodeLost)


def test_a_node_whose_name_another_life_has_cannot_return() -> None:
    scene = two_machines()
    life = scene.team.nodes[DESK].life
    scene.join(DESK)
    scene.refuse(c.ReturnNode(node=DESK, life=life), "node_taken")
    scene.refuse(c.ReturnNode(node=NodeId("nobody"), life=life), "node_taken")


def test_a_session_that_the_log_gave_up_is_refused() -> None:
    scene = two_machines()
    gone = scene.session("Mia").id
    lose(scene, DESK)
    scene.refuse(c.ReportOutput(session=gone, stream="stdout", text="hi"), "unknown_session")


def test_an_agent_between_two_sessions_is_paused_when_its_only_node_is_lost() -> None:
    scene = two_machines()
    scene.ends("Ada")  # so short that the next one waits for a second
    assert scene.agent("Ada").run.current is RunMode.CONTINUOUS
    lose(scene, DESK)
    assert scene.agent("Ada").run.current is RunMode.PAUSE
    scene.later(60)
    assert scene.agent("Ada").session is None


def test_a_node_that_stops_hands_over_who_may_move_and_the_others_wait_for_it() -> None:
    scene = two_machines()
    scene.do(c.StopMuster(reason="test", node=DESK))
    assert scene.team.shutdown is None  # another one goes on
    assert {each.urgency for each in scene.team.sessions.values()} == {Urgency.NOW}
    for name in ("Ada", "Mia"):
        [end] = facts(scene.ends(name, Outcome.CRASHED), e.SessionEnd)
        assert end.outcome is Outcome.CUT_OFF
    assert (scene.agent("Ada").session, node_of(scene, "Mia")) == (None, BOX)
    scene.do(c.EndMuster(reason="test", node=DESK))
    assert list(scene.team.nodes) == [BOX]
    away = scene.refuse(c.StartSession(seat=scene.seat("Ada"), trigger="test"), "no_node")
    assert "its node 'desk' is away" in str(away)
    scene.join(DESK)
    assert node_of(scene, "Ada") == DESK


def test_a_drain_of_one_node_ends_at_its_own_deadline() -> None:
    scene = two_machines()
    scene.do(c.StopMuster(reason="test", node=DESK, drain_seconds=60))
    assert scene.session("Ada").urgency is Urgency.GRACEFUL
    [stopping] = facts(scene.later(60), e.MusterStopping)
    assert (stopping.node, stopping.urgency) == (DESK, Urgency.NOW)


def test_the_turn_does_not_go_to_an_agent_without_a_machine() -> None:
    scene = two_machines()
    scene.do(c.StopMuster(reason="test", node=DESK))
    scene.ends("Ada")
    scene.channel_of("Ada")
    scene.posts()
    assert scene.holder() is None
    override = c.OverrideTurn(
        channel=scene.channel().id, seat=scene.seat("Ada"), to=TurnState.ACTIVE
    )
    refused = scene.refuse(override, "cannot_speak")
    assert "has no machine to run on" in str(refused)


def test_deadlines_of_nodes_move_with_the_clock() -> None:
    scene = two_machines(lost=True)
    away = scene.team.nodes[DESK].away
    scene.do(c.ReportClockJump(seconds=60, shift_seconds=60))
    assert away is not None
    assert scene.team.nodes[DESK].away == away + timedelta(seconds=60)


# ── presence ──────────────────────────────────────────────────────────────────────────────────────


def test_presence_belongs_to_the_node_that_heard_an_agent_last() -> None:
    scene = two_machines()
    desk, box = scene.team.nodes[DESK].life, scene.team.nodes[BOX].life
    scene.do(c.EnrollAgent(name="Sue", authority=Authority.SELF))
    scene.life = desk
    scene.do(c.ConnectAgent(seat=scene.seat("Sue"), life=desk))
    assert scene.agent("Sue").confirmed_in == desk
    scene.life = box
    [heard] = facts(scene.do(c.ConnectAgent(seat=scene.seat("Sue"), life=box)), e.AgentConfirmed)
    assert (heard.seat, scene.agent("Sue").confirmed_in) == (scene.seat("Sue"), box)
    assert scene.do(c.ConnectAgent(seat=scene.seat("Sue"), life=box)) == []
    lose(scene, BOX)
    assert scene.team.shown_status(scene.agent("Sue")) is Status.UNKNOWN


# ── where an agent belongs ────────────────────────────────────────────────────────────────────────


def test_an_agent_of_two_nodes_must_move_and_its_own_node_says_how_it_runs() -> None:
    scene = two_machines()
    ada = c.ConfigureAgent(seat=scene.seat("Ada"), authority=Authority.MUSTER, node=BOX)
    refused = scene.refuse(ada, "agent_elsewhere")
    assert "'desk'" in str(refused)
    assert "'gpu-box'" in str(refused)
    assert belongs(scene, "Mia", BOX, RunPolicy(moves=True, autostart=True)) == []
    assert scene.agent("Mia").node == DESK


def test_one_machine_without_a_name_binds_nobody() -> None:
    scene = Scene()
    scene.running("Ada")
    command = c.ConfigureAgent(
        seat=scene.seat("Ada"), authority=Authority.MUSTER, long_lived=True, max_turns=2
    )
    assert facts(scene.do(command), e.AgentConfigured)
    assert scene.agent("Ada").node is None
    assert facts(scene.do(replace(command, node=DESK)), e.AgentConfigured)
    assert scene.agent("Ada").node == DESK


# ── moving ────────────────────────────────────────────────────────────────────────────────────────


def test_a_moved_agent_finishes_its_session_and_starts_the_next_on_its_new_node() -> None:
    scene = two_machines()
    events = scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=BOX))
    assert facts(events, e.AgentMoved) == [e.AgentMoved(seat=scene.seat("Ada"), node=BOX)]
    [stop] = facts(events, e.StopRequested)
    assert (stop.urgency, stop.restart) == (Urgency.GRACEFUL, True)
    scene.later(10)
    scene.ends("Ada")
    assert node_of(scene, "Ada") == BOX
    assert scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=BOX)) == []


def test_an_agent_without_a_session_moves_at_once() -> None:
    scene = two_machines()
    scene.do(c.StopMuster(reason="test", node=DESK))
    scene.ends("Ada")
    scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=BOX))
    assert node_of(scene, "Ada") == BOX


def test_only_a_person_can_say_that_a_process_on_a_lost_node_is_dead() -> None:
    scene = two_machines(lost=True)
    ada = scene.seat("Ada")
    scene.refuse(c.MoveAgent(seat=ada, node=BOX), "node_away")
    scene.refuse(c.MoveAgent(seat=ada, node=BOX, anyway=True), "forbidden", actor="agent:Mia")
    events = scene.do(c.MoveAgent(seat=ada, node=BOX, anyway=True))
    assert facts(events, e.AgentMoved)[0].anyway
    assert facts(events, e.SessionEnd)[0].outcome is Outcome.LOST
    assert node_of(scene, "Ada") == BOX


def test_an_agent_moves_only_to_a_known_node_that_may_run_it() -> None:
    scene = two_machines()
    scene.connected("Sue")
    scene.refuse(c.MoveAgent(seat=scene.seat("Sue"), node=BOX), "run_elsewhere")
    scene.refuse(c.MoveAgent(seat=scene.seat("Ada"), node=NodeId("nobody")), "not_found")
    belongs(scene, "Ada", DESK, RunPolicy(needs=("gpu",)))
    scene.refuse(c.MoveAgent(seat=scene.seat("Ada"), node=BOX), "invalid")


def test_a_task_of_a_moved_agent_goes_on_where_it_is() -> None:
    scene = two_machines()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="p", agents=("Ada",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Ann"))
    one = ConversationId("conv_001")
    scene.do(c.Delegate(conversation=one, to="Ada", trigger="fits", seconds=60))
    [task] = scene.agent("Ada").tasks
    scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=BOX))
    assert scene.team.sessions[task].urgency is None


def test_only_as_many_of_a_lost_node_start_elsewhere_as_there_is_room_for() -> None:
    scene = Scene()
    scene.do(c.EndMuster(reason="moved to a database"))
    scene.join(DESK)
    for name in ("Mia", "Max"):
        agent_on(scene, name, DESK, MOVES)
        scene.up(name)
    scene.join(BOX, room=1)
    lose(scene, DESK)
    assert [each.node for each in scene.team.sessions.values()] == [BOX]
    waits = scene.agent("Max" if scene.agent("Max").session is None else "Mia")
    assert (waits.session, waits.run.current) == (None, RunMode.PAUSE)
    give_back(scene, DESK)
    assert {each.node for each in scene.team.sessions.values()} == {BOX, DESK}


def test_an_agent_that_moves_anyway_keeps_its_tasks_on_machines_that_are_here() -> None:
    scene = two_machines()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="p", agents=("Ada",)))
    scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=BOX))  # its session on the desk goes on
    scene.do(c.OpenConversation(text="do it", speaker_name="Ann"))
    one = ConversationId("conv_001")
    scene.do(c.Delegate(conversation=one, to="Ada", trigger="fits", seconds=60))
    [task] = scene.agent("Ada").tasks
    lose(scene, DESK)
    scene.join(NodeId("third"))
    scene.do(c.MoveAgent(seat=scene.seat("Ada"), node=NodeId("third"), anyway=True))
    assert scene.team.sessions[task].node == BOX
    assert node_of(scene, "Ada") == "third"
