"""The repository: no text of a particular machine, and a well-formed package."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muster
from tests.tidy.source import ROOT, SOURCE, Module, files, modules

LOCK_FILES = {
    *("Pipfile.lock", "package-lock.json", "pdm.lock", "pnpm-lock.yaml", "poetry.lock"),
    *("pylock.toml", "uv.lock", "yarn.lock"),
}

# No pattern matches its own text.
FOREIGN = {
    "a package registry": (
        r"https?://[^\s/]+/(?:simple|pypi|npm|artifactory)\b|--(?:extra-)?index[-]url|"
        r"--find[-]links|(?:UV|PIP)_(?:DEFAULT_|EXTRA_)?INDEX"
    ),
    "a folder of one machine": r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a token": (
        r"\b(?:AKIA[0-9A-Z]{16}|gh[opsu]_\w{30,}|github_pat_\w{20,}|sk-[\w-]{20,}|"
        r"xox[abprs]-[\w-]{10,}|eyJ[\w-]{20,}\.[\w-]{20,})"
    ),
    "a password": (
        r"(?i)\b(?:password|passwd|secret|api_?key|access_?token)\b[\"']?\s*[:=]\s*"
        r"[\"'][^\"'\s{}]{8,}[\"']"
    ),
}


def texts() -> Iterator[tuple[Path, str]]:
    """Every text file of the repository."""
    for path in files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("what", FOREIGN)
def test_the_repository_has_no_text_of_another_machine(what: str) -> None:
    pattern = re.compile(FOREIGN[what])
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        for path, text in texts()
        for match in pattern.finditer(text)
    ]
    assert not found, f"{what} does not belong in the repository"


def test_every_script_and_style_sheet_is_in_the_folder_that_make_lint_checks() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [checked] = re.findall(r"^WEB := (.+)$", makefile, re.MULTILINE)
    sheets = [path for path in files() if path.suffix in {".js", ".mjs", ".css"}]
    assert sheets
    assert not [str(path) for path in sheets if not path.is_relative_to(ROOT / checked)]


def test_versions_are_pinned_in_one_place_only() -> None:
    assert not [str(path) for path in files() if path.name in LOCK_FILES], "see constraints.txt"


def test_every_dependency_is_pinned() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    loose = [
        name
        for name in dependencies()
        if not re.search(rf"^{re.escape(name)}==", pinned, re.MULTILINE)
    ]
    assert not loose, "name its version in constraints.txt"


def dependencies() -> Iterator[str]:
    """The dependencies of muster and its extras; peers are not pinned."""
    # any TOML value
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras if name != "peers")]
    for group in groups:
        yield from (re.split(r"[^\w-]", requirement)[0] for requirement in group)


# ── the package ───────────────────────────────────────────────────────────────────────────────────


def test_every_folder_with_code_is_a_package_that_says_what_it_is() -> None:
    folders = {module.path.parent for module in modules().values()}
    packages = {module.path.parent: module for module in modules().values() if is_package(module)}
    assert not [str(folder) for folder in folders - set(packages)], "it needs an __init__.py"
    mute = [package.at(1) for package in packages.values() if not ast.get_docstring(package.tree)]
    assert not mute, "a package states its purpose in its docstring"


def is_package(module: Module) -> bool:
    return module.path.name == "__init__.py"


def test_the_package_exports_its_types() -> None:
    assert (SOURCE / "muster" / "py.typed").exists()


def test_the_public_names_exist() -> None:
    told = [
        ast.literal_eval(node.value)
        for node in modules()["muster"].tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert told == [muster.__all__]
    assert muster.__all__ == sorted(set(muster.__all__))
    assert not [name for name in muster.__all__ if not hasattr(muster, name)]
