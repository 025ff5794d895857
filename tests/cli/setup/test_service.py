"""`muster service`: the unit, as systemd itself judges it, and what is said without systemd."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.homes import muster
from tests.waits import WAIT_SECONDS


def printed(home: Path) -> str:
    ran = muster(
        "service", "install", "--print", "--home", str(home), MUSTER_SERVER_DRAIN_SECONDS="45"
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.partition("\n")[2]


@pytest.mark.parametrize("name", [".muster", 'a home with % and "quotes" and $HOME'])
def test_the_unit_is_valid_for_systemd(tmp_path: Path, name: str) -> None:
    analyze = shutil.which("systemd-analyze")
    assert analyze, "install systemd (apt-get install systemd): its own check judges the unit"
    home = tmp_path / name
    home.mkdir()
    unit = tmp_path / "muster.service"
    unit.write_text(printed(home))
    ran = subprocess.run(
        [analyze, "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert "muster.service" not in ran.stderr, ran.stderr
    assert "TimeoutStopSec=75" in unit.read_text()


def test_printing_the_unit_changes_nothing(tmp_path: Path) -> None:
    config = tmp_path / "config"
    ran = muster(
        "service", "install", "--print", "--home", str(tmp_path), XDG_CONFIG_HOME=str(config)
    )
    assert ran.returncode == 0
    assert "Type=notify" in ran.stdout
    assert not config.exists()


def test_without_systemd_the_alternative_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    config = tmp_path / "config"
    ran = muster(
        "service",
        "install",
        "--home",
        str(tmp_path),
        PATH=os.fspath(tmp_path),
        XDG_CONFIG_HOME=str(config),
    )
    assert ran.returncode == 4
    assert "muster up --detach" in ran.stderr
    assert not config.exists()


def test_the_status_and_the_removal_of_a_service_that_is_not_there(tmp_path: Path) -> None:
    config = str(tmp_path / "config")
    status = muster("service", "status", "--home", str(tmp_path), XDG_CONFIG_HOME=config)
    assert "is not installed" in status.stdout
    removed = muster("service", "remove", "--home", str(tmp_path), XDG_CONFIG_HOME=config)
    assert (removed.returncode, "nothing to remove" in removed.stdout) == (0, True)
