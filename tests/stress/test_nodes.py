"""A short version of the storm over a team on two real nodes: each fault once, and a second node
of the same name."""

import asyncio
from pathlib import Path

from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment
from tests.stress.nodes import RealNodes
from tests.waits import WAIT_SECONDS


def refusal_of_a_namesake(team: RealNodes, folder: Path) -> str:
    """The error of a server in another home, with the name of a node that goes on."""
    home = folder / "namesake" / ".muster"
    home.mkdir(parents=True)
    for name in ("team.database", "muster.toml"):
        (home / name).write_bytes((team.nodes[0].home / name).read_bytes())
    (home / "team.database").chmod(0o600)
    line = [MUSTER_SCRIPT, "up", "--home", str(home), "--port", "0", "--no-browser"]
    server = ForkedProcess(line, env=environment({}), cwd=home.parent)
    try:
        assert server.wait(WAIT_SECONDS) == 3
        return server.errors()
    finally:
        server.close()


def test_no_agent_runs_twice_and_all_run_again_after_every_fault(tmp_path: Path) -> None:
    async def storm() -> None:
        async with RealNodes.running(tmp_path, count=2, seed=1) as team:
            await team.play(faults=5)
            told = await asyncio.to_thread(refusal_of_a_namesake, team, tmp_path)
            assert "Another machine has the name 'desk'" in told
            await team.until_all_run()
            assert len(team.faults) == 5

    asyncio.run(storm())
