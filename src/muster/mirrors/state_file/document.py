"""`agent_state.json` as a document: what a person wants of an agent, and what the agent does.

    {
      "desired_state": "continuous",
      "current_state": "continuous",
      "timestamp": "2025-10-15T22:39:14.372Z",
      "setBy": "human",
      "note": "Started via Mission Control (auto mode)"
    }

Others keep more in it: whatever else is there stays, in its order. A field that is missing, or not
of its kind, has its default. A state that nobody knows counts as pause, and stays as it is written.
"""

import json
from datetime import UTC, datetime
from typing import Final, NamedTuple, cast

import msgspec

from muster.machines.vocabulary import RunMode
from muster.whole_text import whole

DESIRED: Final = "desired_state"
CURRENT: Final = "current_state"
TIMESTAMP: Final = "timestamp"
SET_BY: Final = "setBy"
NOTE: Final = "note"


class Wish(NamedTuple):
    """A desired state with its author and note. Two that are equal are the same wish."""

    desired: str
    set_by: str
    note: str
    timestamp: str


class MalformedContent(msgspec.Struct, frozen=True):
    """The reason why a content is not a document."""

    why: str


class StateDocument(msgspec.Struct, frozen=True):
    """A content that could be read."""

    fields: dict[str, object]
    """All of it, in its order."""

    indented: bool = True
    """Whether it was written over several lines."""

    @property
    def wish(self) -> Wish:
        """The desired state, its author and note."""
        text = self._text
        return Wish(text(DESIRED, RunMode.PAUSE), text(SET_BY), text(NOTE), text(TIMESTAMP))

    @property
    def desired(self) -> RunMode:
        """The desired state; pause where the word is unknown."""
        return _mode(self.fields.get(DESIRED)) or RunMode.PAUSE

    @property
    def current(self) -> RunMode:
        """The current state; pause where the word is unknown."""
        return _mode(self.fields.get(CURRENT)) or RunMode.PAUSE

    @property
    def unknown(self) -> str | None:
        """The states in it that nobody knows, as they are written, if there are any."""
        words = [
            f"{name} is {json.dumps(self.fields[name])}"
            for name in (DESIRED, CURRENT)
            if name in self.fields and _mode(self.fields[name]) is None
        ]
        return " and ".join(words) or None

    @property
    def set_at(self) -> datetime | None:
        """When the wish was written, if its timestamp says so."""
        try:
            moment = datetime.fromisoformat(self._text(TIMESTAMP))
        except ValueError:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment

    def changed(self, **fields: str) -> "StateDocument":
        """The same with other values; a field that is new comes last."""
        return StateDocument({**self.fields, **fields}, self.indented)

    def encode(self) -> bytes:
        """The document as it lies in a file."""
        try:
            text = json.dumps(self.fields, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a character, which JSON can spell and UTF-8 cannot
            return json.dumps(self.fields, indent=2 if self.indented else None).encode() + b"\n"
        # What indents in `json` leaves garbage in cycles, which is not collected often.
        return (msgspec.json.format(text, indent=2) if self.indented else text) + b"\n"

    def _text(self, name: str, default: str = "") -> str:
        value = self.fields.get(name, default)
        return whole(value) if isinstance(value, str) else json.dumps(value)


def parse(content: bytes) -> StateDocument | MalformedContent:
    """The document in a content, or what is wrong with it."""
    if not content.strip():
        return MalformedContent("it is empty")
    try:
        found: object = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return MalformedContent(f"it is not JSON ({str(error) or type(error).__name__})")
    if not isinstance(found, dict):
        return MalformedContent("it is not a JSON object")
    return StateDocument(cast("dict[str, object]", found), b"\n" in content.strip())


def new_document(
    *, desired: RunMode, current: RunMode, at: datetime, set_by: str, note: str
) -> StateDocument:
    """A document of five fields."""
    return StateDocument(
        {
            DESIRED: str(desired),
            CURRENT: str(current),
            TIMESTAMP: timestamp(at),
            SET_BY: set_by,
            NOTE: note,
        }
    )


def timestamp(moment: datetime) -> str:
    """A moment as the file has it: in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _mode(value: object) -> RunMode | None:
    """The state that a value names; a field that is not there says pause."""
    if value is None:
        return RunMode.PAUSE
    try:
        return RunMode(value)
    except ValueError:
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")
