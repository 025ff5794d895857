"""The repository as text: its files, its modules, and their imports."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


class Module(NamedTuple):
    """A Python file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    def at(self, line: int) -> str:
        """A location in the module, as editors and terminals link it."""
        return f"{self.path.relative_to(ROOT)}:{line}"


class Import(NamedTuple):
    """One imported name, at the top of a module or later."""

    line: int
    target: str


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    found = (_parsed(path) for path in sorted(SOURCE.rglob("*.py")))
    return {module.name: module for module in found}


def _parsed(path: Path) -> Module:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name, path, text, ast.parse(text, str(path)))


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """All nodes of a module's tree. Kept: many tests look at every one of them."""
    return tuple(ast.walk(module.tree))


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """The imports of a module; for `from package import module`, the inner module."""
    return tuple(_imports(module))


def _imports(module: Module) -> Iterator[Import]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                yield Import(node.lineno, inner if inner in modules() else origin)


def within(name: str, package: str) -> bool:
    """Whether a module is that package, or in it."""
    return name == package or name.startswith(f"{package}.")


def files() -> Iterator[Path]:
    """Every file of the repository, without git's own and ignored ones."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    yield from _files(ROOT, [".git", *(pattern.strip("/") for pattern in ignored)])


def _files(folder: Path, ignored: list[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _files(path, ignored)
        else:
            yield path
