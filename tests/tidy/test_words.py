"""Words: public class names are unique, docstrings name their subject, private words stay out."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.tidy.source import ROOT, Module, modules, nodes, within

HEADLESS = {"Who", "Whoever", "Whom", "What", "Somebody", "Nobody", "Anybody", "It"}
"""A sentence that begins with one of these hides its subject."""

PRIVATE = re.compile(r"\b(?:the|a) seeds?\b(?:'s)?(?! of (?:the )?random)", re.IGNORECASE)
"""The name of the specification, which users do not have."""

FOREIGN_PACKAGE = re.compile(
    r"\b(?:install|--from|with)\s+(?:-\S+\s+)*['\"]?muster(?:\[|['\"]?\s*$)", re.MULTILINE
)


def documented(module: Module) -> Iterator[tuple[int, str]]:
    """The line and text of every docstring."""
    for node in nodes(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def test_a_public_class_name_means_one_thing_in_the_package() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        if not within(module.name, "muster.testing"):
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(module.at(node.lineno))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_a_docstring_names_its_subject() -> None:
    headless = [
        f"{module.at(line)}: {text.splitlines()[0]}"
        for module in modules().values()
        for line, text in documented(module)
        if text.split()[0] in HEADLESS
    ]
    assert not headless, "begin with the thing that the docstring is about"


def readable() -> dict[str, str]:
    """What users and engineers read: the text of every module and document, by its path."""
    texts = {module.at(1): module.text for module in modules().values()}
    return texts | {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    }


def test_the_specification_is_not_mentioned_where_users_read() -> None:
    texts = readable().items()
    assert not {where: hits[:3] for where, text in texts if (hits := PRIVATE.findall(text))}


def test_an_installation_line_names_the_package_of_muster() -> None:
    """`muster` on PyPI is somebody else's package."""
    texts = readable().items()
    assert not [where for where, text in texts if FOREIGN_PACKAGE.search(text)]
