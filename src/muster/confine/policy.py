"""The policy of a confined command: what it may write, and whether it may open connections.

A policy is a JSON file:

    {"write": ["/srv/app/outputs"], "network": false, "sockets": false, "metadata": false,
     "ignore_metadata": false, "environment": {}}

The command reads everything. It writes the folders and files in `write`, which must exist, and a
few devices such as `/dev/null`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("write", "network", "sockets", "metadata", "ignore_metadata", "environment")

PATHS_MAX = 1000
"""Paths of one policy: the kernel keeps a rule for each."""


class ConfineError(ValueError):
    """A command cannot be confined as its policy says; the message has the reason."""


class ConfinePolicy:
    """The rights of a confined command."""

    __slots__ = ("environment", "ignore_metadata", "metadata", "network", "sockets", "write")

    def __init__(
        self,
        write: tuple[str, ...] = (),
        *,
        network: bool = False,
        sockets: bool = False,
        metadata: bool = False,
        ignore_metadata: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.write = write
        """Folders and files that may be written."""
        self.network = network
        """Whether sockets other than local ones and those of UDP may be made."""
        self.sockets = sockets
        """Whether, with a network, Unix sockets may be made too, which reach daemons."""
        self.metadata = metadata
        """Whether modes, owners, times and attributes of all files may be changed."""
        self.ignore_metadata = ignore_metadata
        """Whether a refused change of modes, owners or times reports success."""
        self.environment = dict(environment or {})
        """Environment variables that are set for the command."""


def parse(text: str) -> ConfinePolicy:
    """Parse a policy; raises `ConfineError` with the field that is wrong."""
    import json

    try:
        given: object = json.loads(text, object_pairs_hook=_table)
    except ConfineError:
        raise
    except (ValueError, RecursionError) as wrong:
        raise ConfineError(f"the policy is not JSON: {wrong}") from None
    if not isinstance(given, dict):
        raise ConfineError("the policy must be an object")
    table: dict[str, object] = given  # pyright: ignore[reportUnknownVariableType]
    for field in table:
        if field not in FIELDS:
            raise ConfineError(f"a policy has no field {field!r}; it has {', '.join(FIELDS)}")
    return ConfinePolicy(
        _paths(table.get("write", [])),
        network=_flag(table, "network"),
        sockets=_flag(table, "sockets"),
        metadata=_flag(table, "metadata"),
        ignore_metadata=_flag(table, "ignore_metadata"),
        environment=_variables(table.get("environment", {})),
    )


def _table(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ConfineError(f"the policy has {doubled!r} twice")
    return table


def _paths(given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise ConfineError("'write' must be a list of paths")
    items: list[object] = given  # pyright: ignore[reportUnknownVariableType]
    paths = [each for each in items if isinstance(each, str)]
    if len(items) > PATHS_MAX:
        raise ConfineError(f"'write' has more than {PATHS_MAX} paths")
    if len(paths) != len(items) or not all(path[:1] == "/" and "\0" not in path for path in paths):
        raise ConfineError("'write' must be a list of absolute paths")
    return tuple(paths)


def _flag(table: dict[str, object], field: str) -> bool:
    value = table.get(field, False)
    if not isinstance(value, bool):
        raise ConfineError(f"{field!r} must be true or false")
    return value


def _variables(given: object) -> dict[str, str]:
    if not isinstance(given, dict):
        raise ConfineError("'environment' must be an object")
    table: dict[object, object] = given  # pyright: ignore[reportUnknownVariableType]
    found = {
        name: value
        for name, value in table.items()
        if isinstance(name, str) and isinstance(value, str) and "=" not in name
    }
    if len(found) != len(table) or any("\0" in name + value for name, value in found.items()):
        raise ConfineError("'environment' must map names to strings")
    return found
