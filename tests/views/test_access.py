"""What a reader of a team sees of a private channel that it is not in: no word of its members."""

from collections.abc import Callable
from typing import get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines.events import FACTS, DesiredSet, Event, Fact
from muster.machines.ids import LEAD_SEAT, MUSTER, ChannelId, SeatId
from muster.machines.vocabulary import (
    Authority,
    Budget,
    Outcome,
    ReadRule,
    Role,
    RunMode,
    TurnConfig,
)
from muster.store.codec import stored
from muster.views.access import Access, access_of
from tests.machines.scene import REVIEWS, Scene
from tests.store.building import DESIGN, EXAMPLES, NOON, SEAT, SESSION

SECRET = "xq-plan"
PRIVATE = TurnConfig(read_rule=ReadRule.MEMBERS)

OUTSIDE = Access(hidden=frozenset({ChannelId("elsewhere")}), insiders=frozenset({SEAT}))

SAID = {
    "user_message": "what people and agents say to others",
    "agent_message": "what an agent says to a person, or in a channel that the reader may read",
    "message_imported": "the same, on another machine",
    "announcement": "what muster says in a channel that the reader may read",
    "speaker_chosen": "the words of a selector in a channel that the reader may read",
    "warning_logged": "in a channel that the reader may read",
    "conversation_start": "a request",
    "agent_registered": "a soul is how an agent introduces itself",
    "soul_edited": "a soul is edited by people",
    "agent_enrolled": "who an agent is, by its settings",
    "documents_imported": "who agents are, on another machine",
}
"""Facts whose words are meant for all who may read them."""

FIXED = {
    "state_transition": "its words are those of the machines, or of the channel that it is in",
    "command_refused": "the words of a rule, about names",
    "conflict": "two states, by their names",
    "agent_status": "a report of states",
    "agent_confirmed": "a kind of evidence",
    "session_start": "limits that muster applies",
    "session_requested": "a trigger of a machine",
    "session_adopted": "the folder, the model and the process of a Claude Code run by hand",
    "workspace_planned": "folders and branches of git",
    "stop_requested": "the words of a person, or of a rule",
    "agent_disabled": "the words of a person",
    "agent_renamed": "names that people give",
    "agent_retired": "the words of a person",
    "agent_dismissed": "the words of a person, or of a rule",
    "agents_summoned": "placeholders",
    "agent_configured": "settings",
    "token_issued": "the note of a person",
    "token_revoked": "an id",
    "member_left": "a trigger of a machine",
    "turns_passed": "a rule",
    "turn_claimed": "a name",
    "channel_rested": "a rule",
    "start_deferred": "names of agents",
    "state_file_reported": "a path of the settings, and an error of the system",
    "wake_recorded": "numbers",
}


def _with_secret(fact: Fact) -> Fact:
    """The fact with the secret in each of its texts."""
    if isinstance(fact, DesiredSet):
        return replace(fact, set_by=MUSTER, note=f"run_once failed: {SECRET}")
    hints = get_type_hints(type(fact))  # an id is a type of its own
    return replace(fact, **{name: SECRET for name, hint in hints.items() if hint is str})


def _examples() -> list[Fact]:
    """A fact of each kind about one agent, or about the channel that everybody may read."""
    about = [each for each in EXAMPLES if getattr(each, "seat", None) or hasattr(each, "seats")]
    return [each for each in about if _tag(each) not in FIXED.keys() | SAID.keys()]


def _tag(fact: Fact) -> str:
    return str(fact.__struct_config__.tag)


def _read(fact: Fact) -> bytes:
    seats = {"seats": (SEAT,)} if hasattr(fact, "seats") else {"seat": SEAT}
    about = replace(_with_secret(fact), **seats)
    shown = OUTSIDE.shown_event(stored(Event(1, NOON, SESSION, "muster", None, about)))
    return b"" if shown is None else shown.data


@pytest.mark.parametrize("fact", _examples(), ids=_tag)
def test_no_fact_about_an_insider_repeats_what_its_program_said(fact: Fact) -> None:
    assert SECRET.encode() not in _read(fact)


def test_every_kind_of_fact_is_looked_at() -> None:
    known = {str(each.__struct_config__.tag) for each in FACTS}
    assert FIXED.keys() | SAID.keys() <= known


def test_a_warning_outside_of_channels_is_hidden_with_the_rest() -> None:
    warning = next(each for each in EXAMPLES if _tag(each) == "warning_logged")
    assert _read(replace(warning, channel=None)) == b""
    assert _read(replace(warning, channel=DESIGN)) != b""


def test_what_people_put_aside_is_hidden_because_keys_name_channels() -> None:
    for fact in EXAMPLES:
        if _tag(fact) in ("need_settled", "need_reopened"):
            event = Event(1, NOON, SESSION, "person:Grace", None, fact)
            assert OUTSIDE.shown_event(stored(event)) is None
            assert Access().shown_event(stored(event)) is not None


# ── the state ─────────────────────────────────────────────────────────────────────────────────────


def in_private(name: str = "Ada") -> Scene:
    """An agent of a private channel, whose session has been handed a message."""
    scene = Scene()
    scene.running(name)
    scene.channel_of(name, config=PRIVATE)
    return scene


def _seen(scene: Scene, seat: SeatId | None = None) -> str:
    role = Role.VIEWER if seat is None else Role.AGENT
    shown = access_of(scene.team, role, seat).shown(scene.team)
    return repr([shown.agents, shown.channels])


def _fails(scene: Scene) -> None:
    scene.ends("Ada", Outcome.FAILED, code=3, reason=SECRET)


def _fails_for_good(scene: Scene) -> None:
    ada = scene.seat("Ada")
    scene.do(
        c.ConfigureAgent(
            seat=ada,
            authority=Authority.MUSTER,
            long_lived=True,
            budget=Budget(failures=1),
        )
    )
    _fails(scene)


def _fails_once(scene: Scene) -> None:
    scene.want("Ada", RunMode.RUN_ONCE)
    scene.ends("Ada")
    scene.up("Ada")
    _fails(scene)


def _leaves_a_message(scene: Scene) -> None:
    ada = scene.seat("Ada")
    seq = scene.do(c.SendMessage(text="hello", speaker_name="Marcus", seat=ada))[0].seq
    for _ in range(2):
        scene.do(c.DeliverMessages(seat=ada, upto=seq), "muster")
        _fails(scene)
        scene.later(600)
        if scene.agent("Ada").session is not None:
            scene.up("Ada")
    assert scene.agent("Ada").unanswered is not None


def _notes(scene: Scene) -> None:
    scene.do(c.Remember(seat=scene.seat("Ada"), text=SECRET))


WAYS: tuple[Callable[[Scene], None], ...] = (
    _fails,
    _fails_for_good,
    _fails_once,
    _leaves_a_message,
    _notes,
)


@pytest.mark.parametrize("happens", WAYS)
def test_the_state_of_an_insider_has_no_words_of_its_program(
    happens: Callable[[Scene], None],
) -> None:
    scene = in_private()
    scene.connected("stranger")
    happens(scene)
    assert SECRET in repr(scene.team.agents)
    assert SECRET not in _seen(scene)
    assert SECRET not in _seen(scene, scene.seat("stranger"))
    assert SECRET in _seen(scene, scene.seat("Ada"))


def test_a_stranger_sees_the_exit_code_of_an_insider() -> None:
    scene = in_private()
    _fails(scene)
    shown = access_of(scene.team, Role.VIEWER, None).shown(scene.team)
    failure = shown.agents[scene.seat("Ada")].run.last_failure
    assert failure is not None
    assert failure.reason == "exit code 3"


def test_the_agents_of_a_lead_share_its_program_and_its_secrets() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.LEAD))
    scene.do(c.EnrollAgent(name="Bob", authority=Authority.SELF))
    scene.do(c.CreateChannel(channel=REVIEWS, config=PRIVATE))
    lyra = scene.seat("Lyra")
    team = replace(scene.team, channels={REVIEWS: replace(scene.channel(), ring=(lyra,))})
    assert access_of(team, Role.VIEWER, None).insiders == {LEAD_SEAT, lyra}


def test_a_fact_that_is_not_about_an_insider_is_shown_as_it_is() -> None:
    fact = next(each for each in EXAMPLES if _tag(each) == "session_end")
    other = stored(Event(1, NOON, SESSION, "muster", None, replace(fact, seats=(SeatId(9),))))
    assert OUTSIDE.shown_event(other) is other
    assert msgspec.json.decode(other.data)
