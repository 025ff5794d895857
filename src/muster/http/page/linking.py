"""Joins the modules of the dashboard into one script, as its parts of style become one sheet.

Compressed together, a hundred modules are a quarter smaller than one by one, the browser asks once
instead of a hundred times, and a view opens also while the server is away. Nothing is renamed: a
module becomes a function called once, in the order of the imports, and what it exports is the
result. Its first line names it and its lines are kept, so an error leads to the source.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Final

_IMPORT: Final = re.compile(
    rb'^import\s+(?:(?P<names>[^;"]+?)\s+from\s+)?"(?P<path>[^"]+)";', re.MULTILINE
)
_EXPORT: Final = re.compile(
    rb"^export\s+(?=(?:const|class|function|async\s+function)\s+(?P<name>[\w$]+))", re.MULTILINE
)
_NAME: Final = re.compile(rb"[{,]\s*([\w$]+)")
_NOT_LINKED: Final = re.compile(rb"^export\b.*|^.*import\(.*", re.MULTILINE)


class NotLinked(ValueError):
    """A module that cannot be joined with others. The message names it, and the line."""


def linked(entry: str, modules: Mapping[str, bytes]) -> bytes:
    """A module and everything that it imports, as one script without imports."""
    *needed, _ = _in_order(entry, modules)
    _check_names((*needed, entry), modules)
    functions = (_as_function(path, modules[path]) for path in needed)
    return b"".join((*functions, _body(entry, modules[entry])[0]))


def _in_order(entry: str, modules: Mapping[str, bytes]) -> list[str]:
    """The modules that an entry needs, each after those that it imports, and the entry last."""
    order: dict[str, None] = {}
    above: list[str] = []

    def visit(path: str) -> None:
        if path in above:
            raise NotLinked(f"Modules import each other: {' > '.join((*above, path))}")
        if path in order:
            return
        above.append(path)
        for needed in _imports(path, modules[path]):
            visit(needed)
        order[above.pop()] = None

    visit(entry)
    return list(order)


def _check_names(paths: Iterable[str], modules: Mapping[str, bytes]) -> None:
    """Refuse an import of a name that its module does not export, as a browser does."""
    exported = {
        path: {found["name"] for found in _EXPORT.finditer(modules[path])} for path in paths
    }
    for path in exported:
        for found in _IMPORT.finditer(modules[path]):
            target = _target(path, found)
            for name in _NAME.findall(found["names"] or b""):
                if name not in exported[target]:
                    raise NotLinked(f"{path}: {target} does not export {name.decode()}")


def _imports(path: str, content: bytes) -> Iterator[str]:
    for found in _IMPORT.finditer(content):
        yield _target(path, found)


def _target(path: str, found: re.Match[bytes]) -> str:
    return normpath(join(dirname(path), found["path"].decode()))


def _as_function(path: str, content: bytes) -> bytes:
    body, exported = _body(path, content)
    if not exported:
        return b"(()=>{%b})();\n" % body
    return b"const %b=(()=>{%breturn{%b}})();\n" % (_name(path), body, b",".join(exported))


def _body(path: str, content: bytes) -> tuple[bytes, list[bytes]]:
    """A module without its imports and exports, and the names that it exports."""
    exported = _EXPORT.findall(content)
    body = _EXPORT.sub(b"", content)
    if left := _NOT_LINKED.search(body):
        raise NotLinked(f"{path}: {left[0].decode()!r} is not supported")
    return _IMPORT.sub(lambda found: _taken(_target(path, found), found), body), exported


def _taken(path: str, found: re.Match[bytes]) -> bytes:
    """An import as constants with the same names, on the same number of lines."""
    names = found["names"]
    lines = b"\n" * found[0].count(b"\n")
    if names is None:
        return lines
    if names.startswith(b"* as "):
        return b"const %b=%b;%b" % (names.removeprefix(b"* as "), _name(path), lines)
    return b"const %b=%b;" % (names.replace(b" as ", b":"), _name(path))


def _name(path: str) -> bytes:
    """The name of a module's exports, which no name within a module is: `$elements_menu`."""
    return b"$" + re.sub(rb"\W", b"_", path.removesuffix(".js").encode())
