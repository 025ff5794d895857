"""Both launchers, with the plan of a policy, and a loud failure where a machine cannot confine."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from muster.confine import launching
from muster.confine.kernel import support
from muster.confine.plan import plan_of
from muster.confine.policy import ConfinePolicy
from tests.waits import WAIT_SECONDS

FOLDER: Final = Path(launching.__file__).parent
LAUNCHERS: Final = {
    "perl": [launching.PERL, str(FOLDER / "launch.pl")],
    "python": launching.python_launcher(),
}


def written(folder: Path, policy: ConfinePolicy) -> Path:
    """A file with the plan of a policy."""
    found = support()
    if not found.abi:
        pytest.fail(f"this machine cannot run the tests of confinement: {found.sentence}")
    path = folder / "policy.plan"
    path.write_text(plan_of(policy, found))
    return path


def launch(
    launcher: str, plan: Path, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a launcher with the words after the plan."""
    return subprocess.run(
        [*LAUNCHERS[launcher], str(plan), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=WAIT_SECONDS,
        check=False,
    )
