"""The benchmarks of the dashboard: measured in a browser, on the wire, and on the screen."""

from pathlib import Path

import pytest

from bench import web
from bench.browsing import Speakers
from muster.client.sync import Client


def test_every_line_of_the_dashboard_is_measured_in_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "RATE", 4)  # a busy machine sends that many, too
    monkeypatch.setattr(web, "SETTLE_SECONDS", 0.1)  # only exact figures need more
    monkeypatch.setattr(web, "MANY", 50)  # a large team is for figures, not for whether it works
    lines = web.measure(tmp_path, 1, events=500, seconds=0.5, tabs=1)
    assert [line.goal.unit for line in lines] == ["KB", "ms", "KB", "s", "ms"]
    wire, delay, _, first, _ = (line.median for line in lines)
    assert 20 < wire < 150
    assert min(lines[1].figures) > 0
    assert delay > 0
    assert first > 0


def test_a_message_is_seen_when_it_or_a_later_one_of_its_agent_is_on_the_screen() -> None:
    with Client("http://127.0.0.1:1", "nobody") as client:
        speakers = Speakers(client, ["Ada", "Bo"], rate=1)
    speakers.sent = [100.0, 110.0, 120.0, 130.0]
    said = speakers.word
    seen = [("Ada waits", 1.0), ("thing-0 3", 2.0), (f"{said} 1", 150.0)]  # from long ago
    assert speakers.delays(seen) == [40.0]
    seen += [(f"{said} 2", 160.0), (f"{said} 3", 190.0)]
    assert speakers.delays(seen) == [60.0, 40.0, 40.0, 60.0]
