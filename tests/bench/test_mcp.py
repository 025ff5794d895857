"""The benchmark of MCP: both servers give the same answer, and each round has a figure."""

from pathlib import Path

from bench.mcp import measure


def test_a_tool_of_muster_is_measured_against_the_same_tool_of_a_bare_server(
    tmp_path: Path,
) -> None:
    call, turn = measure(tmp_path, 1)
    assert len(call.figures) == len(turn.figures) == 1
    assert call.median > 0
    assert turn.median > 0
