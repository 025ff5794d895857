"""The benchmarks over HTTP: every measured request and turn is in the log."""

import asyncio
from pathlib import Path

import pytest

from bench.flush import Flushing
from bench.http import measure, serving
from bench.turns import Posted, Told, playing
from muster.home.lock import LOG_FILE
from muster.store.codec import decode
from muster.store.reading import LogReader

AS_IT_IS = Flushing(name="this disk", environment={})


def log_types(home: Path) -> list[str]:
    with LogReader.open(home / LOG_FILE) as reader:
        return [decode(each.data).type for each in reader.read(after=0, limit=1_000_000)]


@pytest.mark.parametrize("way", [Posted, Told])
def test_a_measured_turn_is_in_the_log(tmp_path: Path, way: type[Posted] | type[Told]) -> None:
    with playing(tmp_path / "ours", AS_IT_IS, way) as play:
        cost = play(60)
    assert cost.seconds > 0
    assert log_types(tmp_path / "ours" / "home").count("agent_message") == 60


def test_every_measured_post_is_in_the_log(tmp_path: Path) -> None:
    (line,) = measure(tmp_path / "ours", AS_IT_IS, 1)
    assert len(line.figures) == 1
    posts = log_types(tmp_path / "ours" / "home").count("user_message")
    assert posts == 2 * 640  # one warm-up round, and one that counts


def test_the_empty_route_needs_a_token_too(tmp_path: Path) -> None:
    async def ask() -> int:
        connection = await site.connect()
        try:
            return (await connection.ask(site.request("POST", "/bench/empty", {}))).status
        finally:
            connection.close()

    with serving(tmp_path / "ours", AS_IT_IS) as site:
        assert asyncio.run(ask()) == 200
        site.tokens[""] = "wrong"
        assert asyncio.run(ask()) == 401
