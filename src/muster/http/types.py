"""Wire types that several routes share: the bases of bodies and queries, values, small answers.

A body or a query that one route takes is declared beside its handler; an answer that clients read
is a view (`muster.views`).
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from muster.errors import Invalid
from muster.limits import NOTE_CHARS_MAX, TURN_SECONDS_MAX

Note = Annotated[str, msgspec.Meta(max_length=NOTE_CHARS_MAX)]
"""A reason or a remark."""

Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=TURN_SECONDS_MAX)]
"""A timeout. As in the settings: a shorter one fires before any agent can act."""

Cursor = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]
"""The seq of the last event that was read; -1 is before the first."""

Seq = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""The place of an event in the log; 0 is before the first."""

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its time zone."""


class Query(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The query of a request."""


class Body(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a request; unknown fields are ignored."""


class StrictBody(Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a request in which an unknown field is an error."""


def in_utc(what: str, moment: datetime) -> datetime:
    """A moment in UTC. Conversion overflows in the first and the last year of the calendar."""
    if not 1970 < moment.year < 9999:
        raise Invalid(what=what, why="is out of range: give a year from 1971 to 9998")
    return moment.astimezone(UTC)
