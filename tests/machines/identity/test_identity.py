"""Identity: registration, waking, sleep and authority. Every event against every status."""

from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.identity.palette import PALETTE, appearance
from muster.machines.ids import GRID_SEATS, LEAD_SEAT, SeatId, SessionId
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Agent, Status, TurnState
from muster.machines.vocabulary import (
    Authority,
    Machine,
    Outcome,
    RunMode,
)
from tests.machines.scene import Scene, facts, moves

NONE, HATCHING, ALIVE, SLEEPING, EXPIRED, UNKNOWN = Status
SEAT = GRID_SEATS[0]
STRANGER = SessionId("stranger")


def places(*seats: SeatId) -> tuple[e.Placeholder, ...]:
    return tuple(
        e.Placeholder(grid_position=seat, color="#c9b1e8", gender="woman")
        for seat in seats or GRID_SEATS
    )


def summon(authority: Authority = Authority.LEAD) -> c.SummonAgents:
    return c.SummonAgents(placeholders=places(), authority=authority)


def register(
    seat: SeatId = SEAT, name: str = "Lyra", session: SessionId | None = None, soul: str = "soul"
) -> c.RegisterAgent:
    profile = e.Profile(
        name=name,
        grid_position=seat,
        color="#c9b1e8",
        color_name="Violet Heaven",
        gender="woman",
        individuation_artifact=soul,
    )
    return c.RegisterAgent(profile=profile, session=session)


def status(*seats: SeatId, session: SessionId | None = None, word: str = "alive") -> c.ReportStatus:
    entries = tuple(e.StatusEntry(grid_position=seat, status=word) for seat in seats)
    return c.ReportStatus(agents=entries, session=session)


def led() -> Scene:
    """A team with a lead whose process is up."""
    scene = Scene()
    scene.do(
        c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT, long_lived=True)
    )
    scene.want("Julian", RunMode.CONTINUOUS)
    scene.up("Julian")
    return scene


def at(scene: Scene, seat: SeatId = SEAT) -> Agent:
    return scene.team.agents[seat]


def seated(state: Status) -> Scene:
    """A led team whose first seat is in this state."""
    scene = led()
    if state is NONE:
        return scene
    scene.do(summon())
    if state is EXPIRED:
        scene.later(300)
    if state in (ALIVE, SLEEPING):
        scene.do(register(session=at(scene, LEAD_SEAT).session))
    if state is SLEEPING:
        scene.do(status(session=at(scene, LEAD_SEAT).session))
    assert (at(scene).status if SEAT in scene.team.agents else NONE) is state
    return scene


# ── birth ─────────────────────────────────────────────────────────────────────────────────────────


def test_summon_prepares_eight_seats_around_the_lead_without_names() -> None:
    scene = led()
    events = scene.do(summon())
    assert [move[1:] for move in moves(events, Machine.IDENTITY)] == [
        (NONE, HATCHING, "summoned")
    ] * 8
    assert sorted(scene.team.agents) == list(range(9))
    agent = at(scene)
    assert (agent.name, agent.color_name) == (None, "")
    assert (agent.color, agent.gender) == ("#c9b1e8", "woman")
    assert agent.hatch_until == scene.now + timedelta(minutes=5)


def test_a_registration_creates_the_soul_and_the_name() -> None:
    scene = seated(ALIVE)
    agent = at(scene)
    assert (agent.name, agent.soul, agent.color_name) == ("Lyra", "soul", "Violet Heaven")
    assert agent.last_session_id == scene.life  # as its messages say: serverSessionId
    assert agent.hatch_until is None
    assert scene.own_state("Lyra") is TurnState.IDLE


def test_a_seat_without_a_registration_expires_after_five_minutes_and_is_kept() -> None:
    scene = led()
    scene.do(summon())
    scene.later(200)
    scene.do(register(session=at(scene, LEAD_SEAT).session))
    scene.later(100)
    assert at(scene).status is ALIVE
    assert [at(scene, seat).status for seat in GRID_SEATS[1:]] == [EXPIRED] * 7


def test_a_summon_that_failed_altogether_can_be_repeated() -> None:
    scene = seated(EXPIRED)
    events = scene.do(summon())
    assert moves(events, Machine.IDENTITY)[0][1:] == (EXPIRED, HATCHING, "summoned")


def test_a_failed_birth_that_left_a_session_is_repeated_by_its_own_authority_only() -> None:
    scene = led()
    scene.do(summon(Authority.MUSTER))
    scene.later(301)
    assert at(scene).status is EXPIRED
    assert at(scene).session is not None
    refused = scene.refuse(summon(), "wrong_state")
    assert "still in a session; stop it first" in str(refused)


def test_a_seat_that_is_disabled_stays_so_when_it_is_summoned_again() -> None:
    scene = led()
    scene.do(summon())
    scene.do(c.DisableAgent(seat=SEAT))
    scene.later(301)
    scene.do(summon())
    assert at(scene).disabled


def test_a_summon_is_refused_while_an_agent_is_visible() -> None:
    for state in (HATCHING, ALIVE, SLEEPING):
        assert seated(state).refuse(summon(), "already_summoned").code == "already_summoned"


def test_a_lead_without_a_team_does_not_block_a_summon() -> None:
    assert len(facts(led().do(summon()), e.AgentsSummoned)) == 1


@pytest.mark.parametrize(
    "placeholders",
    [places(SEAT, SEAT), places(LEAD_SEAT), places(SeatId(-1)), places(SeatId(2**63))],
    ids=["twice", "the lead", "nowhere", "too far"],
)
def test_a_summon_of_impossible_seats_is_refused(
    placeholders: tuple[e.Placeholder, ...],
) -> None:
    command = c.SummonAgents(placeholders=placeholders, authority=Authority.LEAD)
    led().refuse(command, "invalid")


def test_summoned_agents_that_muster_runs_are_started_for_their_birth() -> None:
    scene = Scene()
    events = scene.do(summon(Authority.MUSTER))
    assert len(facts(events, e.SessionRequested)) == 8
    session = at(scene).session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session))
    assert at(scene).status is HATCHING
    scene.do(register(session=session))
    assert at(scene).status is ALIVE
    assert at(scene).run.desired is RunMode.RUN_ONCE


def test_an_agent_keeps_the_folder_of_the_session_in_which_it_was_born() -> None:
    scene = Scene()
    scene.do(summon(Authority.MUSTER))
    session = at(scene).session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session))
    scene.do(register(session=session))
    assert at(scene).folder_name == f"seat-{SEAT}"
    assert at(seated(ALIVE)).folder_name == "Lyra"  # born inside its lead


def test_an_agent_cannot_register_from_a_session_that_has_ended() -> None:
    scene = Scene()
    scene.do(summon(Authority.MUSTER))
    session = at(scene).session
    assert session is not None
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.FAILED))
    scene.refuse(register(), "not_the_authority")
    scene.refuse(register(session=session), "not_the_authority")


# ── every event against every stored status ───────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "after"),
    [(NONE, ALIVE), (HATCHING, ALIVE), (EXPIRED, ALIVE), (SLEEPING, ALIVE), (ALIVE, None)],
)
def test_a_registration_in_every_state(before: Status, after: Status | None) -> None:
    scene = seated(before)
    command = register(session=at(scene, LEAD_SEAT).session, soul="another soul")
    if after is None:
        scene.refuse(command, "seat_taken")
    else:
        scene.do(command)
        assert at(scene).status is after
    if before in (SLEEPING, ALIVE):
        assert at(scene).soul == "soul"  # the first soul of a seat stays


@pytest.mark.parametrize(
    ("before", "listed", "after"),
    [
        (NONE, True, NONE),
        (NONE, False, NONE),
        (HATCHING, True, HATCHING),
        (HATCHING, False, HATCHING),
        (EXPIRED, True, EXPIRED),
        (EXPIRED, False, EXPIRED),
        (SLEEPING, True, ALIVE),
        (SLEEPING, False, SLEEPING),
        (ALIVE, True, ALIVE),
        (ALIVE, False, SLEEPING),
    ],
)
def test_a_status_report_in_every_state(before: Status, listed: bool, after: Status) -> None:
    scene = seated(before)
    scene.later(1)
    seats = (SEAT,) if listed else ()
    scene.do(status(*seats, session=at(scene, LEAD_SEAT).session))
    agent = scene.team.agents.get(SEAT)
    assert (agent.status if agent else NONE) is after
    if after is ALIVE:
        assert agent is not None
        assert agent.last_alive_at == scene.now
        assert agent.last_session_id == scene.life


@pytest.mark.parametrize("before", [HATCHING, EXPIRED, SLEEPING, ALIVE])
def test_the_end_of_the_leads_session_in_every_state(before: Status) -> None:
    scene = seated(before)
    scene.want("Julian", RunMode.PAUSE)
    scene.ends("Julian")
    assert at(scene).status is (SLEEPING if before is ALIVE else before)
    assert at(scene, LEAD_SEAT).status is SLEEPING


def test_a_session_end_touches_only_the_seats_in_that_session() -> None:
    scene = seated(ALIVE)
    scene.connected("pm")
    scene.running("Kael")
    scene.want("Julian", RunMode.PAUSE)
    scene.ends("Julian")
    assert scene.agent("pm").status is ALIVE
    assert scene.agent("Kael").status is ALIVE
    assert at(scene).status is SLEEPING


def test_an_entry_that_is_not_alive_counts_as_not_listed() -> None:
    scene = seated(ALIVE)
    scene.do(status(SEAT, session=at(scene, LEAD_SEAT).session, word="idle"))
    assert at(scene).status is SLEEPING


def test_a_lead_that_lost_its_team_puts_all_to_sleep_with_an_empty_list() -> None:
    scene = seated(ALIVE)
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    assert at(scene).status is SLEEPING
    assert scene.own_state("Lyra") is TurnState.OFFLINE


# ── authority ─────────────────────────────────────────────────────────────────────────────────────


def test_only_the_lead_can_register_and_report_its_agents() -> None:
    scene = seated(HATCHING)
    refused = scene.refuse(register(session=STRANGER), "not_the_authority")
    assert refused.recorded
    scene.refuse(status(SEAT, session=STRANGER), "not_the_authority")
    Scene().refuse(status(SEAT, session=STRANGER), "not_the_authority")


def test_a_report_that_contradicts_a_process_changes_nothing_and_is_logged_as_a_conflict() -> None:
    scene = led()
    scene.running("Kael")
    kael = scene.seat("Kael")
    events = scene.do(status(kael, session=at(scene, LEAD_SEAT).session, word="dead"))
    [conflict] = facts(events, e.Conflict)
    assert (conflict.seat, conflict.reported) == (kael, "dead")
    assert scene.agent("Kael").status is ALIVE
    scene.want("Kael", RunMode.PAUSE)
    scene.ends("Kael")
    [conflict] = facts(scene.do(status(kael)), e.Conflict)
    assert scene.agent("Kael").status is SLEEPING


def test_a_report_of_an_unknown_agent_only_logs_a_warning() -> None:
    scene = seated(ALIVE)
    command = c.ReportStatus(
        agents=(
            e.StatusEntry(grid_position=SEAT, name="Lyra"),
            e.StatusEntry(grid_position=SeatId(77), name="Ghost"),
            e.StatusEntry(grid_position=LEAD_SEAT, name="Julian"),
        )
    )
    events = scene.do(command)
    assert [fact.text for fact in facts(events, e.WarningLogged)] == [
        "the lead reported 'Ghost' in agent-identity:77, which has no agent of that name"
    ]


def test_a_rejected_marker_changes_nothing_and_is_on_record() -> None:
    scene = seated(ALIVE)
    before = scene.team.agents
    [event] = scene.do(c.RejectMarker(marker="[AGENT_STATUS]", reason="in a fence", seat=SEAT))
    assert isinstance(event.fact, e.MarkerRejected)
    [unknown] = scene.do(c.RejectMarker(marker="[AGENT_STATUS]", reason="no seat"))
    assert "of an unknown agent was rejected" in sentence(unknown, scene.team)
    assert scene.team.agents == before


def test_a_seat_keeps_its_first_name() -> None:
    scene = seated(SLEEPING)
    lead = at(scene, LEAD_SEAT).session
    assert "Lyra" in str(scene.refuse(register(name="Nova", session=lead), "seat_taken"))


def test_names_are_unique_without_regard_to_case() -> None:
    scene = seated(ALIVE)
    scene.refuse(register(seat=GRID_SEATS[1], name="LYRA"), "name_taken")
    scene.refuse(c.EnrollAgent(name="lyra", authority=Authority.SELF), "name_taken")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("MAIN", "name_reserved"),
        ("main", "name_reserved"),
        ("QUEUE", "name_reserved"),
        ("marcus", "name_reserved"),
        (".", "name_reserved"),
        ("..", "name_reserved"),
        ("", "invalid"),
        ("a/b", "invalid"),
        ("a\\b", "invalid"),
        ("a\nb", "invalid"),
        ("a" * 65, "invalid"),
        ("a" * 10_000_000, "invalid"),
        ("trailing ", "invalid"),
        ("\u041c\u0430rcus", "invalid"),  # Cyrillic M and a, then Latin letters
        ("\u0391\u0410", "invalid"),  # a Greek and a Cyrillic A
        ("Marcu\ua731", "invalid"),  # a small capital S
        ("Lyr\u0251", "invalid"),  # a Latin alpha
        ("\ua4e1yra", "invalid"),  # a Lisu letter that looks like L
        ("\u202egnp.exe", "invalid"),
    ],
)
def test_a_name_that_is_reserved_or_not_plain_is_refused(name: str, code: str) -> None:
    scene = seated(HATCHING)
    scene.refuse(register(name=name), code)
    scene.refuse(c.EnrollAgent(name=name, authority=Authority.SELF), code)


LATIN_MAX, CYRILLIC_MAX = "Max", "\u041c\u0430\u0445"
CYRILLIC_BOB = "\u0412\u041e\u0412"  # in capitals only
LISU_LYRA = "\ua4e1\ua4ec\ua4e3\ua4ee"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LATIN_MAX, CYRILLIC_MAX),
        (CYRILLIC_MAX, LATIN_MAX),
        ("Bob", CYRILLIC_BOB),
        (CYRILLIC_BOB, "Bob"),
        ("Lyra", LISU_LYRA),
        (LISU_LYRA, "Lyra"),
    ],
)
def test_a_name_that_looks_like_another_one_is_that_name(first: str, second: str) -> None:
    scene = seated(HATCHING)
    scene.connected(first)
    scene.refuse(register(name=second), "name_taken")
    human = Scene(human="Max")
    human.refuse(c.EnrollAgent(name=CYRILLIC_MAX, authority=Authority.SELF), "name_reserved")


@pytest.mark.parametrize(
    "name", ["Ödön", "Işıl", "李雷", "\u0421\u0430\u0440\u0430", "Ann-Marie", "v1.2_b", "a b", "7"]
)
def test_a_plain_name_in_any_script_is_taken(name: str) -> None:
    scene = Scene()
    scene.connected(name)
    assert scene.agent(name).status is ALIVE


def test_an_oversized_soul_and_an_invalid_seat_are_refused() -> None:
    scene = seated(HATCHING)
    scene.refuse(register(soul="x" * 1024 * 1024), "invalid")
    scene.refuse(register(seat=LEAD_SEAT), "invalid")
    scene.refuse(register(seat=SeatId(-2)), "invalid")


# ── enrolling and connecting ──────────────────────────────────────────────────────────────────────


def test_an_agent_that_enrols_takes_the_next_free_seat_from_nine_on_and_sleeps() -> None:
    scene = Scene()
    for name in ("pm", "dev"):
        scene.do(c.EnrollAgent(name=name, authority=Authority.SELF))
    assert (scene.seat("pm"), scene.seat("dev")) == (9, 10)
    assert scene.agent("pm").status is SLEEPING
    assert scene.agent("pm").soul == ""
    scene.do(c.EnrollAgent(name="far", authority=Authority.SELF, seat=SeatId(20)))
    scene.do(c.EnrollAgent(name="next", authority=Authority.SELF))
    assert scene.seat("next") == 21
    taken = c.EnrollAgent(name="other", authority=Authority.SELF, seat=SeatId(20))
    scene.refuse(taken, "seat_taken")
    many = c.EnrollAgent(name="other", authority=Authority.SELF, max_turns=0)
    scene.refuse(many, "invalid")


def test_an_agent_that_connects_is_alive_while_it_is_connected() -> None:
    scene = Scene()
    scene.connected("pm")
    assert scene.do(c.ConnectAgent(seat=scene.seat("pm"))) == []
    events = scene.do(c.DisconnectAgent(seat=scene.seat("pm"), reason="heartbeat"))
    assert moves(events, Machine.IDENTITY) == [("pm", ALIVE, SLEEPING, "heartbeat_lost")]
    assert scene.do(c.DisconnectAgent(seat=scene.seat("pm"), reason="left")) == []
    assert scene.own_state("pm") is TurnState.OFFLINE


def test_an_agent_that_others_run_cannot_connect_by_itself() -> None:
    scene = seated(ALIVE)
    scene.refuse(c.ConnectAgent(seat=SEAT), "not_the_authority")
    scene.refuse(c.DisconnectAgent(seat=SEAT, reason="left"), "not_the_authority")


def test_a_disabled_agent_is_offline_and_cannot_connect_until_it_is_enabled() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    scene.do(c.DisableAgent(seat=pm, reason="noisy"))
    assert scene.do(c.DisableAgent(seat=pm)) == []
    assert scene.own_state("pm") is TurnState.OFFLINE
    scene.refuse(c.ConnectAgent(seat=pm), "disabled")
    scene.do(c.EnableAgent(seat=pm))
    assert scene.do(c.EnableAgent(seat=pm)) == []
    assert scene.own_state("pm") is TurnState.IDLE


# ── waking, sleeping, unknown ─────────────────────────────────────────────────────────────────────


def test_a_wake_starts_sleeping_agents_only() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.want("Lyra", RunMode.PAUSE)
    scene.ends("Lyra")
    events = scene.do(c.WakeAgents())
    assert [fact.seats for fact in facts(events, e.WakeRequested)] == [(scene.seat("Lyra"),)]
    [desired] = facts(events, e.DesiredSet)
    assert (desired.desired, desired.set_by) == (RunMode.CONTINUOUS, "Marcus")
    scene.up("Lyra")
    assert scene.agent("Lyra").status is ALIVE


def test_a_program_that_ends_by_itself_is_woken_for_one_session() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    scene.do(c.WakeAgents(seats=(scene.seat("Lyra"),)))
    assert scene.agent("Lyra").run.desired is RunMode.RUN_ONCE


def test_waking_agents_of_the_lead_starts_the_lead() -> None:
    scene = seated(ALIVE)
    scene.want("Julian", RunMode.PAUSE)
    scene.ends("Julian")
    events = scene.do(c.WakeAgents(seats=(SEAT,)))
    assert [fact.seat for fact in facts(events, e.SessionRequested)] == [LEAD_SEAT]
    assert at(scene).status is SLEEPING  # until the lead reports it


def test_only_sleeping_agents_can_be_woken_and_only_alive_ones_put_to_sleep() -> None:
    scene = seated(ALIVE)
    scene.refuse(c.WakeAgents(seats=(SEAT,)), "wrong_state")
    scene.refuse(c.SleepAgents(seats=(GRID_SEATS[1],)), "wrong_state")
    empty = Scene()
    assert "No agent is sleeping" in str(empty.refuse(c.WakeAgents(), "nobody_is"))
    empty.refuse(c.WakeAgents(seats=(SEAT,)), "not_found")


def test_sleep_is_a_pause() -> None:
    scene = Scene()
    scene.running("Lyra")
    events = scene.do(c.SleepAgents())
    assert scene.agent("Lyra").run.desired is RunMode.PAUSE
    assert [fact.urgency for fact in facts(events, e.StopRequested)] == [e.Urgency.GRACEFUL]


def test_after_a_restart_an_alive_agent_is_unknown_until_its_authority_confirms_it() -> None:
    scene = seated(ALIVE)
    scene.connected("pm")
    lead = at(scene, LEAD_SEAT).session
    scene.boot()
    assert scene.team.shown_status(at(scene)) is UNKNOWN
    assert at(scene).status is ALIVE
    assert scene.team.shown_status(scene.agent("pm")) is UNKNOWN
    [confirmed] = facts(scene.do(c.ConnectAgent(seat=scene.seat("pm"))), e.AgentConfirmed)
    assert confirmed.evidence == "heartbeat"
    assert scene.team.shown_status(scene.agent("pm")) is ALIVE
    assert scene.do(c.WakeAgents(seats=(SEAT,)))  # the authority is asked
    scene.do(status(SEAT, session=lead))
    assert scene.team.shown_status(at(scene)) is ALIVE


def test_a_process_that_muster_finds_again_confirms_its_agent() -> None:
    scene = Scene()
    scene.running("Kael")
    scene.boot()
    [confirmed] = facts(scene.do(c.Awaken(seat=scene.seat("Kael"))), e.AgentConfirmed)
    assert confirmed.evidence == "process"
    assert scene.team.shown_status(scene.agent("Kael")) is ALIVE


def test_every_status_has_its_evidence() -> None:
    scene = seated(ALIVE)
    scene.running("Kael")
    scene.connected("pm")
    kinds = {}
    for name in ("Lyra", "Kael", "pm"):
        evidence = scene.agent(name).evidence
        assert evidence is not None
        assert scene.log[evidence.seq - 1].seq == evidence.seq
        kinds[name] = evidence.kind
    assert kinds == {"Lyra": "report", "Kael": "process", "pm": "heartbeat"}


def test_a_registration_in_the_last_seat_leaves_free_seats_for_enrolment() -> None:
    scene = led()
    lead = scene.team.agents[LEAD_SEAT].session
    last = e.Profile(name="Omega", grid_position=SeatId(99_999))
    scene.do(c.RegisterAgent(profile=last, session=lead))
    scene.do(c.EnrollAgent(name="pm", authority=Authority.SELF))
    assert scene.seat("pm") == 9
    beyond = c.EnrollAgent(name="dev", authority=Authority.SELF, seat=SeatId(100_000))
    scene.refuse(beyond, "invalid")


def test_every_seat_of_the_grid_looks_different_and_beyond_it_looks_repeat() -> None:
    assert [each.grid_position for each in PALETTE] == list(GRID_SEATS)
    assert len({each.color for each in PALETTE}) == len(GRID_SEATS)
    beyond = appearance(SeatId(9))
    assert beyond.color in {each.color for each in PALETTE}
