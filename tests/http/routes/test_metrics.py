"""Metrics, health and readiness over HTTP."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.machines import commands as c
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Usage
from tests.asking import asker
from tests.inside import Inside, inside
from tests.tidy.source import ROOT


@pytest.fixture
def muster(tmp_path: Path) -> Generator[Inside]:
    with inside(tmp_path, "Ada", "Bo") as team:
        yield team


def scraped(muster: Inside) -> dict[str, float]:
    """Every sample by its name with labels, as Prometheus reads it."""
    with asker(muster.server, muster.server.token) as boss:
        answer = boss.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics_count_agents_turns_costs_and_commits(muster: Inside) -> None:
    design = ChannelId("design")
    muster.send(c.CreateChannel(channel=design))
    for name in ("Ada", "Bo"):
        muster.runs(name)
        muster.send(c.AddMember(channel=design, seat=muster.agent(name).seat))
    used = Usage(cost_usd=0.25, input_tokens=10)
    session = muster.agent("Ada").session
    assert session is not None
    muster.send(c.ReportResult(session=session, ok=True, text="", usage=used))

    found = scraped(muster)

    assert found['muster_agents{status="alive"}'] == 2
    assert found['muster_agents_desired{mode="continuous"}'] == 2
    assert found["muster_turns_held"] == 1
    assert found['muster_turns_total{state="ACTIVE"}'] >= 1
    assert found['muster_cost_usd_total{agent="Ada"}'] == 0.25
    assert found['muster_tokens_total{agent="Ada"}'] == 10
    assert found['muster_events_total{type="session_start"}'] == 2
    assert found["muster_commit_seconds_count"] == found['muster_commit_seconds_bucket{le="+Inf"}']
    assert found["muster_commit_seconds_count"] > 0
    assert found["process_resident_memory_bytes"] > 1_000_000


def test_an_agent_that_reports_its_cost_alone_is_counted(muster: Inside) -> None:
    muster.runs("Ada")
    session = muster.agent("Ada").session
    assert session is not None
    muster.send(c.ReportResult(session=session, ok=True, text="", usage=Usage(cost_usd=0.5)))

    assert scraped(muster)['muster_cost_usd_total{agent="Ada"}'] == 0.5


def test_the_dashboard_for_grafana_asks_for_metrics_that_exist(muster: Inside) -> None:
    board = json.loads((ROOT / "docs/guides/grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    wanted = {name for expr in asked for name in re.findall(r"\b(?:muster|process)_\w+", expr)}
    with asker(muster.server, muster.server.token) as boss:
        told = boss.http.get("/metrics").text
    families = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
    missing = {name for name in wanted if name.removesuffix("_bucket") not in families}
    assert len(wanted) > 10
    assert not missing


def test_metrics_need_a_token_and_health_and_readiness_none(muster: Inside) -> None:
    with asker(muster.server, None) as stranger:
        stranger.get("/metrics", 401)
        assert stranger.get("/api/ready") == {"status": "ready"}
        assert stranger.get("/api/health")["status"] == "ok"


def test_a_server_whose_log_cannot_be_written_is_not_ready_and_says_so(
    muster: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher = type(muster._muster.dispatcher)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(dispatcher, "is_failing", property(lambda self: True))

    with asker(muster.server, None) as stranger:
        assert stranger.get("/api/health")["status"] == "failing"
        stranger.refused("GET", "/api/ready", 503, "not_ready")
