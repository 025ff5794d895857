"""Why: the command line, on a file, and the server, on its store, explain alike."""

from pathlib import Path

import pytest

from muster.engine.loading import load
from muster.errors import NotFound
from muster.home.lock import LOG_FILE
from muster.machines import commands as c
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.views import why
from muster.views.why import Explanation, Reading, read_async, read_from
from tests.builders import run
from tests.homes import ADA, DESIGN, TWO_AGENTS, play


def explained(home: Path, reading: Reading[list[Explanation]]) -> list[Explanation]:
    with LogReader.open(home / LOG_FILE) as log:
        return read_from(log, reading)


def explained_by_the_store(home: Path, reading: Reading[list[Explanation]]) -> list[Explanation]:
    async def scene() -> None:
        store = await SqliteStore.open(home)
        try:
            found.extend(await read_async(store, reading))
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
        lambda: why.of_agent(team.agents[ADA]),
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
    assert [each.title for each in explained(tmp_path, why.of_agent(team.agents[ADA]))] == [
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
