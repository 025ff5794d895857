"""Why: the command line, on a file, and the server, on its store, explain alike."""

from pathlib import Path

import pytest

from muster.engine.loading import load
from muster.errors import NotFound
from muster.home.lock import LOG_FILE
from muster.machines import commands as c
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, RunMode, SpeakerOrder, TurnConfig, TurnState
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.views import why
from muster.views.access import show_all
from muster.views.why import Explanation, Reading, read_async, read_from
from tests.builders import run
from tests.homes import ADA, BO, DESIGN, TWO_AGENTS, play


def explained(home: Path, reading: Reading[list[Explanation]]) -> list[Explanation]:
    with LogReader.open(home / LOG_FILE) as log:
        return read_from(log, reading)


def explained_by_the_store(home: Path, reading: Reading[list[Explanation]]) -> list[Explanation]:
    async def scene() -> None:
        store = await SqliteStore.open(home)
        try:
            found.extend(await read_async(store, reading, show_all))
        finally:
            await store.close()

    found: list[Explanation] = []
    run(scene())
    return found


def test_a_log_file_and_a_store_explain_alike(tmp_path: Path) -> None:
    play(tmp_path, *TWO_AGENTS, c.CompleteTurn(channel=DESIGN, seat=ADA))
    with LogReader.open(tmp_path / LOG_FILE) as log:
        team = load(log)
    subjects = [
        lambda: why.of_agent(team, team.agents[ADA]),
        lambda: why.of_channel(team, team.channels[DESIGN]),
        lambda: why.of_event(str(team.seq)),
    ]
    for subject in subjects:
        found = explained(tmp_path, subject())
        assert found == explained_by_the_store(tmp_path, subject())
        assert found
        for each in found:
            seqs = [event.seq for event in each.events]
            assert seqs == sorted(seqs, reverse=True)
            assert each.events[-1].cause is None
    assert [each.title for each in explained(tmp_path, why.of_agent(team, team.agents[ADA]))] == [
        "turns in design: QUEUED",
        "run: continuous",
        "identity: alive",
    ]


def test_an_explanation_ends_after_so_many_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, *TWO_AGENTS, c.CompleteTurn(channel=DESIGN, seat=ADA))
    with LogReader.open(tmp_path / LOG_FILE) as log:
        team = load(log)
    subject = team.channels[DESIGN]
    (whole,) = explained(tmp_path, why.of_channel(team, subject))
    assert len(whole.events) > 1
    monkeypatch.setattr(why, "STEPS_MAX", 1)
    (short,) = explained(tmp_path, why.of_channel(team, subject))
    assert short.events == whole.events[:1]


@pytest.mark.parametrize("word", ["0", "999", "x", "-1", "9" * 40, "²"])
def test_an_event_or_approval_that_is_not_in_the_log_is_refused(tmp_path: Path, word: str) -> None:
    play(tmp_path, *TWO_AGENTS)
    with pytest.raises(NotFound):
        explained(tmp_path, why.of_event(word))
    with pytest.raises(NotFound):
        explained(tmp_path, why.of_approval(word))
    with pytest.raises(NotFound):
        explained(tmp_path, why.of_approval("1"))  # an event, and no request


def test_why_names_the_last_sign_of_a_loop_that_nothing_confirms(tmp_path: Path) -> None:
    """Issue 15, defect 13: the state of a loop says on which evidence it rests."""
    enrol = c.EnrollAgent(name="Ada", authority=Authority.FILE)
    play(tmp_path, enrol, c.ReportCurrent(seat=ADA, current=RunMode.CONTINUOUS))
    [(title, events), *_] = told(tmp_path, "ada").items()
    assert title.startswith("run: unknown, its state file says continuous, but its loop has not")
    assert "; the last sign of it is of " in title
    assert events == ["state_transition"]


def test_why_names_the_last_warning_about_an_agent(tmp_path: Path) -> None:
    """Issue 15: a state file that cannot be written was told nowhere but in the log."""
    warnings = [c.LogWarning(text=f"{each} cannot be written", seat=ADA) for each in ("a", "b")]
    play(tmp_path, *TWO_AGENTS, *warnings, c.LogWarning(text="of another", seat=BO))
    assert told(tmp_path, "ada")["last warning: b cannot be written"] == ["warning_logged"]
    assert sum(title.startswith("last warning") for title in told(tmp_path, "ada")) == 1


# ── why an agent does not get the turn ────────────────────────────────────────────────────────────


def told(home: Path, name: str) -> dict[str, list[str]]:
    """The explanations of an agent: the types of their events, by title."""
    team = loaded(home)
    agent = team.agents[team.names[name]]
    found = explained(home, why.of_agent(team, agent))
    return {each.title: [event.type for event in each.events] for each in found}


def loaded(home: Path) -> Team:
    with LogReader.open(home / LOG_FILE) as log:
        return load(log)


def test_an_agent_that_is_passed_over_learns_that_there_is_nothing_new(tmp_path: Path) -> None:
    enrolled = [
        c.EnrollAgent(name=name, authority=Authority.MUSTER, long_lived=True)
        for name in ("Ada", "Bo")
    ]
    joined = c.CreateChannel(channel=DESIGN, members=(ADA, BO))
    play(tmp_path, *enrolled, joined)
    assert "turns in design: it is paused; `muster start Ada` lets it run" in told(tmp_path, "ada")
    started = [
        c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Grace") for seat in (ADA, BO)
    ]
    play(tmp_path, *started)
    found = told(tmp_path, "ada")
    title = "turns in design: it is passed over while there is nothing new for it (nothing_new)"
    assert found[title][0] == "turns_passed"
    team = loaded(tmp_path)
    [about] = explained(tmp_path, why.of_channel(team, team.channel(DESIGN)))
    assert about.title == (
        "it rests: there is nothing new for any member (nothingNew); a message starts it again"
    )


def test_an_agent_whose_turn_a_person_took_away_learns_that_and_what_comes_of_the_words(
    tmp_path: Path,
) -> None:
    play(tmp_path, *TWO_AGENTS, c.PostMessage(text="go", speaker_name="Grace", channel=DESIGN))
    take = [c.OverrideTurn(channel=DESIGN, seat=seat, to=TurnState.QUEUED) for seat in (ADA, BO)]
    play(tmp_path, *take)
    title = (
        "turns in design: a person took its turn away. What it was handed until then counts as"
        " read, and is not handed to it again; the rest comes with its next turn. A new message"
        " lets it speak again, and so does a person who chooses it"
    )
    assert told(tmp_path, "bo")[title][0] == "state_transition"
    team = loaded(tmp_path)
    [about] = explained(tmp_path, why.of_channel(team, team.channel(DESIGN)))
    assert about.title == (
        "it rests: a person took the turn away from Ada, Bo (nothingNew); a message starts it again"
    )


def test_an_agent_that_a_person_removed_learns_that_only_a_person_adds_it(tmp_path: Path) -> None:
    play(tmp_path, *TWO_AGENTS, c.RemoveMember(channel=DESIGN, seat=BO))
    title = "not in design: a person removed it, and only a person can add it again"
    assert told(tmp_path, "bo")[title] == ["member_left"]


def test_an_agent_that_lost_its_place_learns_when_it_gets_it_back(tmp_path: Path) -> None:
    play(tmp_path, *TWO_AGENTS, c.DisconnectAgent(seat=BO, reason="heartbeat_lost"))
    title = "not in design: it lost its place, and gets it back when it joins again"
    assert told(tmp_path, "bo")[title][0] == "member_left"


def test_an_agent_waits_for_the_selector_and_the_selector_for_its_next_choice(
    tmp_path: Path,
) -> None:
    config = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Ada")
    chosen = c.ConfigureChannel(channel=DESIGN, config=config)
    asks = c.PostMessage(channel=DESIGN, text="Begin.", speaker_name="Ann")
    play(tmp_path, *TWO_AGENTS, chosen, asks, c.CompleteTurn(channel=DESIGN, seat=ADA))
    channel = loaded(tmp_path).channel(DESIGN)
    assert channel.turn is not None
    if not channel.turn.choosing:  # the choice was made when Ada's own turn ended
        play(tmp_path, c.CompleteTurn(channel=DESIGN, seat=BO))
    waits = "turns in design: it waits for the choice of the selector Ada"
    assert told(tmp_path, "bo")[waits][0] == "state_transition"
    play(tmp_path, c.Speak(channel=DESIGN, seat=ADA, text="Bo"))
    asked = "turns in design: it is the selector, and gets the turn only to choose the next speaker"
    assert asked in told(tmp_path, "ada")


def test_a_channel_tells_why_its_holder_has_the_turn(tmp_path: Path) -> None:
    play(tmp_path, *TWO_AGENTS, c.CompleteTurn(channel=DESIGN, seat=ADA, to=BO))
    team = loaded(tmp_path)
    [about] = explained(tmp_path, why.of_channel(team, team.channel(DESIGN)))
    assert about.title == "turn 2 is with Bo (handed over by Ada)"
