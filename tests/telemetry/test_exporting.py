"""A team's work arrives at a real collector on loopback."""

from collections.abc import Generator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from muster.machines import commands as c
from muster.machines.ids import ChannelId, agent_actor
from muster.machines.vocabulary import Activity
from tests.inside import Inside, inside
from tests.telemetry.collector import Collector, attributes, collecting

SECRET = "rm -r /srv/secret"
DESIGN = ChannelId("design")


@pytest.fixture
def collector() -> Generator[Collector]:
    with collecting() as found:
        yield found


def settings(collector: Collector, *, content: bool = False) -> str:
    return f'[telemetry]\notlp_url = "{collector.url}"\ncontent = {str(content).lower()}\n'


def works(team: Inside) -> None:
    """Ada has a turn: two tool calls, a result with its cost, and the end."""
    team.runs("Ada")
    team.opens("design", "Ada", "Bo")
    team.until(lambda now: now.channels[DESIGN].turn is not None)
    team.calls("Ada", Activity.TOOL_CALL, "Bash", SECRET, "call-1")
    team.calls("Ada", Activity.TOOL_FAILED, "Bash", "no", "call-1")
    team.calls("Ada", Activity.TOOL_CALL, "Read", "notes.md", "call-2")
    team.calls("Ada", Activity.TOOL_DONE, "Read", "", "call-2")
    team.spends("Ada", 0.25, 40, "design")
    done = c.CompleteTurn(channel=DESIGN, seat=team.agent("Ada").seat)
    team.send(done, actor=agent_actor("Ada"))


def test_a_turn_its_work_and_its_tool_calls_are_one_trace_and_words_stay_at_home(
    tmp_path: Path, collector: Collector
) -> None:
    with inside(tmp_path, "Ada", "Bo", settings=settings(collector)) as team:
        works(team)
        turn, work = collector.span("invoke_agent Ada"), collector.span("chat")
        bash, read = collector.span("execute_tool Bash"), collector.span("execute_tool Read")
        started = collector.record("muster.session_start")

    assert attributes(turn)["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(turn)["gen_ai.conversation.id"] == "#design"
    for each in (turn, work):
        assert attributes(each)["muster.cost_usd"] == 0.25
        assert attributes(each)["gen_ai.usage.output_tokens"] == 1
    assert {work.trace_id, bash.trace_id, read.trace_id} == {turn.trace_id}
    assert (turn.parent_span_id, work.parent_span_id) == (b"", turn.span_id)
    assert {bash.parent_span_id, read.parent_span_id} == {work.span_id}
    assert bash.status.code == Status.STATUS_CODE_ERROR
    assert read.status.code == Status.STATUS_CODE_UNSET
    assert attributes(read)["gen_ai.tool.call.id"] == "call-2"
    assert turn.start_time_unix_nano <= bash.start_time_unix_nano <= bash.end_time_unix_nano
    assert started.severity_text == "INFO"
    assert not any(SECRET.encode() in body for body in collector.bodies)


def test_with_content_the_words_are_sent(tmp_path: Path, collector: Collector) -> None:
    with inside(tmp_path, "Ada", "Bo", settings=settings(collector, content=True)) as team:
        works(team)
        assert attributes(collector.span("execute_tool Bash"))["muster.tool.input"] == SECRET
        assert "Bo" in collector.record("muster.member_joined").body.string_value
