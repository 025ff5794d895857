"""The SQL of the stores, in files: named queries in `{dialect}/queries.sql`, numbered migrations in
`{dialect}/0001_*.sql`.

The files are read by path: `importlib.resources` would cost every start of the command line ten
milliseconds of imports.
"""

import re
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent


class Migration(NamedTuple):
    """One numbered step of a schema."""

    number: int
    script: str


def queries(dialect: str) -> dict[str, str]:
    """Every query of a dialect by name, without comments."""
    text = (_HERE / dialect / "queries.sql").read_text(encoding="utf-8")
    _, *sections = re.split(r"^-- name: ", text, flags=re.MULTILINE)
    return dict(_named(section) for section in sections)


def _named(section: str) -> tuple[str, str]:
    name, *lines = section.splitlines()
    return name, "\n".join(line for line in lines if line and not line.startswith("--"))


def migrations(dialect: str) -> list[Migration]:
    """The migrations of a dialect, in order."""
    return [
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in sorted((_HERE / dialect).glob("[0-9]*.sql"))
    ]
