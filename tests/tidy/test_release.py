"""Releases and habits: the changelog, the workflows, and documents that name tests and code."""

import importlib
import re
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.changelog import with_section
from tests.requirements.test_coverage import named_in
from tests.tidy.source import ROOT

Json = Any  # any YAML or TOML value

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> Json:
    return tomllib.loads(text("pyproject.toml"))


def workflow(name: str) -> Json:
    return yaml.safe_load(text(f".github/workflows/{name}"))


# ── the image ─────────────────────────────────────────────────────────────────────────────────────


def test_the_image_is_built_from_files_of_the_repository_and_runs_without_privileges() -> None:
    lines = text("Containerfile").replace("\\\n", " ").splitlines()
    steps = [tuple(line.split()) for line in lines if line and not line.startswith(("#", " "))]
    users = [step[1] for step in steps if step[0] == "USER"]
    copied = [path for verb, *paths in steps if verb == "COPY" for path in paths[:-1]]
    ours = [path for path in copied if not path.startswith(("--from", "/opt"))]
    assert users == ["muster"]
    assert any(step[0] == "HEALTHCHECK" for step in steps)
    assert ours
    assert all((ROOT / path).exists() for path in ours)
    assert {f"!{path}" for path in ours} <= set(text(".containerignore").splitlines())
    extras = re.findall(r"/muster\[([\w,]+)\]", text("Containerfile"))[0].split(",")
    assert set(extras) <= set(project()["project"]["optional-dependencies"])


# ── workflows ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_only_targets_of_the_makefile(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    steps = [step for job in workflow(path.name)["jobs"].values() for step in job["steps"]]
    made = [
        found for step in steps for found in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))
    ]
    assert made
    assert not set(made) - targets


def test_the_workflow_checks_every_python_that_the_package_claims() -> None:
    claimed = [
        each.rpartition(" :: ")[2]
        for each in project()["project"]["classifiers"]
        if re.search(r":: Python :: 3\.\d+$", each)
    ]
    checked = workflow("check.yml")["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert checked == claimed
    assert project()["project"]["requires-python"] == f">={claimed[0]}"


# ── the changelog ─────────────────────────────────────────────────────────────────────────────────


def test_fragments_become_a_section_above_the_earlier_ones() -> None:
    first = with_section("", "0.1.0", "2026-01-01", ["The first.\n"])
    assert first == "# Changelog\n\n## 0.1.0 (2026-01-01)\n\nThe first.\n"
    second = with_section(first, "0.2.0", "2026-02-01", ["A.\n", "\nB.\n\n- c\n"])
    assert second == (
        "# Changelog\n\n## 0.2.0 (2026-02-01)\n\nA.\n\nB.\n\n- c\n\n"
        "## 0.1.0 (2026-01-01)\n\nThe first.\n"
    )


def test_a_version_gets_one_section_and_an_empty_one_gets_none() -> None:
    first = with_section("", "0.1.0", "2026-01-01", ["The first."])
    with pytest.raises(ValueError, match=r"0\.1\.0 has a section already"):
        with_section(first, "0.1.0", "2026-02-01", ["More."])
    with pytest.raises(ValueError, match="no fragments"):
        with_section(first, "0.2.0", "2026-02-01", [])


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def test_every_test_that_the_security_policy_names_exists() -> None:
    named = re.findall(r"`tests/([\w/]+\.py)::(\w+)`", text("SECURITY.md"))
    assert named
    assert not [f"{file}::{name}" for file, name in named if name not in named_in(file)]


def test_every_row_of_the_security_policy_names_a_test() -> None:
    rows = re.findall(r"^\| (?!who |-).+\|$", text("SECURITY.md"), re.MULTILINE)
    assert rows
    assert not [row for row in rows if "`tests/" not in row]


def test_every_public_name_can_be_imported() -> None:
    table = text("docs/reference/stability.md").partition("## Everything else")[0]
    names = re.findall(r"`(muster(?:\.\w+)+)`", table)
    assert {"muster.Client", "muster.AsyncClient"} < set(names)
    for name in names:
        module, _, attribute = name.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), attribute), name
        except ModuleNotFoundError:
            pytest.fail(f"{name} has moved")


def test_the_editorconfig_has_the_widths_of_the_formatters() -> None:
    editors = ConfigParser()
    editors.read_string("[top]\n" + text(".editorconfig"))
    assert editors["*.py"].getint("max_line_length") == project()["tool"]["ruff"]["line-length"]
    [width] = re.findall(r'"lineWidth": (\d+)', text("biome.jsonc"))
    assert editors["*.{js,css}"]["max_line_length"] == width
