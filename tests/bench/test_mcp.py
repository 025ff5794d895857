"""The benchmark of MCP: both servers give the same answer, and each round has a figure."""

from pathlib import Path

from bench.mcp import measure


def test_a_tool_of_muster_is_measured_against_the_same_tool_of_a_bare_server(
    tmp_path: Path,
) -> None:
    (line,) = measure(tmp_path, 1)
    assert len(line.figures) == 1
    assert line.median > 0
