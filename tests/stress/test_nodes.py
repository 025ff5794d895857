"""A short version of the storm over a team on two real nodes: each fault once, and a second node of
the same name. Their clocks are two hours apart."""

import asyncio
from pathlib import Path

from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment
from tests.stress.clocks import compiled_shim
from tests.stress.nodes import RealNodes
from tests.waits import WAIT_SECONDS, until


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
    shim = compiled_shim(tmp_path)

    async def storm() -> None:
        async with RealNodes.running(tmp_path, count=2, seed=1, clock_shim=shim) as team:
            maps = Path(f"/proc/{team.nodes[0].server.pid}/maps")
            await asyncio.to_thread(until, lambda: shim.name in maps.read_text())
            await team.play(faults=6)
            told = await asyncio.to_thread(refusal_of_a_namesake, team, tmp_path)
            assert "Another machine has the name 'desk'" in told
            await team.until_all_run()
            assert len(team.faults) == 6
        assert "0 lost, 0 twice" in team.result

    asyncio.run(storm())
