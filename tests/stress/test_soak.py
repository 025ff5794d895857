"""A short soak with real processes; by hand it runs two minutes with fifty agents."""

import json
from pathlib import Path

import pytest

from muster.machines import events as e
from muster.machines.ids import MUSTER, SeatId, SessionId
from muster.machines.vocabulary import Machine
from muster.testing.clock import ManualClock
from tests.homes import DESIGN
from tests.stress import soak, soak_check
from tests.stress.soak import Plan, Soak
from tests.stress.soak_check import Verdict

pytestmark = pytest.mark.exhaustive

SHORT = Plan(
    agents=10,
    channels=2,
    seconds=6,
    seed=1,
    agent_life_s=6,
    muster_life_s=2,
    meddle_s=0.2,
    retire_s=2,
    messages_min=80,
)


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished soak without violations."""
    folder = tmp_path_factory.mktemp("soak")
    played = Soak(SHORT, folder)
    verdict = played.run()
    assert verdict.wrong == [], soak.told(SHORT, played, verdict)
    assert played.killed["musters"] > 0
    assert played.killed["agents"] > 0
    assert played.meddled["take"] > 0
    assert played.meddled["remove"] > 0
    assert verdict.figures["starts"] == 1 + played.killed["musters"]
    assert verdict.figures["acknowledged"] > 50
    return folder


def held_against(soaked: Path, name: str, *entries: object) -> list[str]:
    """The violations if a client's journal had this additional entry at its end."""
    journals = {path.stem: path for path in soaked.glob("*.journal")}
    doctored = soaked / "doctored"
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    doctored.write_text(journals[name].read_text() + lines)
    return soak_check.check(soaked / "home", journals | {name: doctored}).wrong


def test_no_message_is_lost_or_duplicated_while_agents_and_muster_are_killed(soaked: Path) -> None:
    assert held_against(soaked, "agent-0") == []


def test_an_acknowledged_message_missing_in_the_log_is_found(soaked: Path) -> None:
    said = {"said": "agent-0/1/9999", "seq": 3, "repeated": False}
    (wrong,) = held_against(soaked, "agent-0", {"trying": "agent-0/1/9999"}, said)
    assert "was acknowledged at 3, but stands at None" in wrong


def test_a_refused_message_in_the_log_is_found(soaked: Path) -> None:
    journal = map(json.loads, filter(None, (soaked / "human.journal").read_text().splitlines()))
    said = next(entry["said"] for entry in journal if "said" in entry)
    (wrong,) = held_against(soaked, "human", {"refused": said})
    assert "was refused, but stands at" in wrong


def test_a_message_delivered_as_new_twice_is_found(soaked: Path) -> None:
    name, handed = next(
        (path.stem, json.loads(line))
        for path in sorted(soaked.glob("agent-*.journal"))
        for line in reversed(path.read_text().splitlines())
        if '"new": [' in line and '"new": []' not in line
    )
    (wrong,) = held_against(soaked, name, handed)
    assert "as new, which is not on record" in wrong


def turn(number: int, source: str, target: str, trigger: str) -> e.Fact:
    """A change of state of an agent in the channel."""
    return e.StateTransition(
        machine=Machine.TURNS,
        agent_id=f"agent-{number}",
        seat=SeatId(number),
        channel=DESIGN,
        source=source,
        target=target,
        trigger=trigger,
    )


def rounds(number: int) -> list[e.Fact]:
    """So many turns of one agent, one after the other."""
    granted = turn(number, "QUEUED", "ACTIVE", "turn_granted")
    return [granted, turn(number, "ACTIVE", "QUEUED", "turn_complete")] * 5


def unfair(*facts: e.Fact) -> list[str]:
    """The violations of a log of a channel with two members, which begins so."""
    joined = [e.MemberJoined(channel=DESIGN, seat=SeatId(each)) for each in (1, 2)]
    queued = [turn(each, "IDLE", "QUEUED", "assigned_to_channel") for each in (1, 2)]
    log = [
        e.Event(seq, ManualClock().now(), SessionId("boot-1"), MUSTER, None, fact)
        for seq, fact in enumerate([*joined, *queued, *facts], 1)
    ]
    verdict = Verdict()
    soak_check.check_turns(log, verdict)
    return verdict.wrong


def test_an_agent_that_waits_while_another_has_turn_after_turn_is_found() -> None:
    assert unfair(*rounds(1)) == ["seat 2 waits while others have 5 turns"]


def test_an_agent_whose_process_is_gone_does_not_wait() -> None:
    gone = turn(2, "QUEUED", "OFFLINE", "agent_stops")
    assert unfair(gone, *rounds(1)) == []


def test_the_command_line_prints_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--agents", "2", "--channels", "1", "--seconds", "1", "--muster-life", "0.4"]
    assert soak.main(few) == 0
    out = capsys.readouterr().out
    assert "2 agents in 1 channels for 1 s" in out
    assert "0 violations" in out
