"""The needs that each target has been told of: `notified.json` in the home.

A restart of muster tells nobody twice. The file can be lost: then what is open is told once more.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec

from muster.regular_files import open_for_owner_only, read_regular

FILE: Final = "notified.json"


class ToldNeeds:
    """The keys of the needs that were told, by target."""

    def __init__(self, home: Path | None) -> None:
        """Remember in this home; without one, in memory only."""
        self._path = None if home is None else home / FILE
        self._keys: dict[str, frozenset[str]] = dict(self._read())

    def of(self, target: str) -> frozenset[str]:
        """The keys that a target was told."""
        return self._keys.get(target, frozenset())

    def keep(self, target: str, keys: frozenset[str]) -> None:
        """Remember these keys of a target, and no others."""
        if self.of(target) != keys:
            self._keys[target] = keys
            self._write()

    def forget_all_but(self, targets: Collection[str]) -> None:
        """Forget the targets that are no more."""
        gone = self._keys.keys() - set(targets)
        for name in gone:
            del self._keys[name]
        if gone:
            self._write()

    def _read(self) -> Mapping[str, frozenset[str]]:
        if self._path is None:
            return {}
        try:
            return msgspec.json.decode(read_regular(self._path), type=dict[str, frozenset[str]])
        except (OSError, msgspec.DecodeError):
            return {}

    def _write(self) -> None:
        if self._path is None:
            return
        aside = self._path.with_name(f"{FILE}.new")
        aside.unlink(missing_ok=True)
        content = msgspec.json.encode({name: sorted(each) for name, each in self._keys.items()})
        with open(aside, "xb", opener=open_for_owner_only) as file:
            file.write(content)
        aside.replace(self._path)
