"""The version of a program that npm has installed."""

from pathlib import Path

import pytest

from muster.cli.setup.checks.npm_version import npm_version


@pytest.mark.parametrize("package", ["agent", "@maker/agent"])
def test_a_program_has_the_version_of_its_package(package: str, tmp_path: Path) -> None:
    folder = tmp_path / "node_modules" / package
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "agent", "version": "1.2.3"}')
    (folder / "dist" / "index.js").touch()
    (tmp_path / "package.json").write_text('{"version": "9.9.9"}')
    (tmp_path / "agent").symlink_to(folder / "dist" / "index.js")
    assert npm_version(str(tmp_path / "agent")) == "1.2.3"
    (folder / "package.json").write_text("not JSON")
    assert not npm_version(str(tmp_path / "agent"))


def test_a_program_that_npm_has_not_installed_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"version": "9.9.9"}')
    (tmp_path / "agent").touch()
    assert not npm_version(str(tmp_path / "agent"))
