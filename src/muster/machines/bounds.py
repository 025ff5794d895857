"""Bounds of identity: the same for markers, the API and imported documents.

A field that the store or a later merge cannot hold is refused here, before it becomes a fact.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from muster import limits
from muster.errors import Invalid
from muster.machines.vocabulary import FaceVariant, Placeholder, Profile

YEARS: Final = range(limits.YEAR_FIRST, limits.YEAR_LAST + 1)
CLOCKS_APART: Final = timedelta(seconds=limits.CLOCKS_APART_SECONDS)


def check_soul(what: str, soul: str) -> None:
    """Refuse a soul that is too long."""
    if len(soul) * 4 <= limits.SOUL_BYTES_MAX:
        return  # UTF-8 needs at most four bytes for a character
    if len(soul.encode(errors="surrogatepass")) > limits.SOUL_BYTES_MAX:
        raise Invalid(what=what, why=f"is over {limits.SOUL_BYTES_MAX} bytes")


def check_looks(what: str, *parts: str | None, face: FaceVariant | None = None) -> None:
    """Refuse a colour, gender, role or face that is too long."""
    every = parts if face is None else (*parts, face.eyes, face.mouth)
    if any(len(part or "") > limits.NOTE_CHARS_MAX for part in every):
        raise Invalid(what=what, why=f"has a field with over {limits.NOTE_CHARS_MAX} characters")


def as_moment(moment: datetime | None, what: str) -> datetime | None:
    """A time in UTC, where a time without a zone counts as UTC; out of range it is refused."""
    if moment is None:
        return None
    if moment.year not in YEARS:  # arithmetic with it could overflow
        why = f"is of the year {moment.year}; it must be {YEARS.start} to {YEARS.stop - 1}"
        raise Invalid(what=what, why=why)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def check_profile(profile: Profile) -> None:
    """Refuse a registration with an oversized field."""
    check_soul("the soul", profile.individuation_artifact)
    looks = (profile.color, profile.color_name, profile.gender)
    check_looks("the registration", *looks, face=profile.face_variant)


def check_placeholder(place: Placeholder) -> None:
    """Refuse a prepared seat with an oversized field."""
    what = f"seat {place.grid_position}"
    check_looks(what, place.color, place.gender, place.role)
