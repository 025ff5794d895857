"""Mermaid diagrams, generated from the transition tables that decide."""

from collections.abc import Iterable
from typing import Any, Final

from muster.errors import NotFound
from muster.machines.delegation import table as delegation
from muster.machines.identity import decide as identity
from muster.machines.run_control import modes as run_control
from muster.machines.state import MAIN, QUEUE, Status, TurnState
from muster.machines.tables import Row
from muster.machines.turns import table as turn_rules

AnyRow = Row[Any]  # a diagram does not call guards, so their argument type does not matter

TABLES: Final[dict[str, tuple[str, list[tuple[str, Iterable[AnyRow]]]]]] = {
    "identity": (Status.NONE, [("who is it, and is it here", identity.TABLE)]),
    "run": (
        run_control.PAUSE,
        [
            ("desired: what people want", run_control.DESIRED),
            ("current: what it does", run_control.TABLE),
        ],
    ),
    "turns": (TurnState.OFFLINE, [("may it speak", turn_rules.TABLE)]),
    "delegation": (MAIN, [("who does the work", delegation.TABLE)]),
}

MACHINES: Final = tuple(TABLES)


def mermaid(machine: str) -> str:
    """The diagram of one machine."""
    if machine not in TABLES:
        raise NotFound(kind="machine", name=machine)
    start, tables = TABLES[machine]
    lines = ["stateDiagram-v2"]
    for title, rows in tables:
        lines.append(f"    %% {title}")
        prefix = f"{title.split(':')[0]}_" if len(tables) > 1 else ""
        lines.append(f"    [*] --> {prefix}{start}")
        if machine == "delegation":
            lines.append(f"    [*] --> {QUEUE}")
        lines.extend(f"    {_arrow(prefix, row)}" for row in rows)
    return "\n".join(lines) + "\n"


def _arrow(prefix: str, row: AnyRow) -> str:
    condition = f" [{row.condition}]" if row.condition else ""
    return f"{prefix}{row.source} --> {prefix}{row.target}: {row.trigger}{condition}"
