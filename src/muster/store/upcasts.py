"""One small function for each retired version of an event. Owns the reading of old logs.

A fact whose shape changes gets a higher `version`, and the old shape stays readable by an upcast:

    @upcast("member_joined", 1)
    def _members_have_a_weight(event: Shape) -> Shape:
        return event | {"weight": 1}

An upcast gets the whole event as parsed JSON and returns it one version later. It may rename the
event by setting `type`; then `v` starts at the version that it sets, too.
"""

from collections.abc import Callable
from typing import Final

Shape = dict[str, object]
"""An event as JSON reads it: envelope and fact in one flat object."""

Upcast = Callable[[Shape], Shape]

UPCASTS: Final[dict[tuple[object, object], Upcast]] = {}
"""By the type and version that each upcasts from."""


def upcast(kind: str, version: int) -> Callable[[Upcast], Upcast]:
    """Register the upcast of a retired version to the next."""

    def register(function: Upcast) -> Upcast:
        UPCASTS[kind, version] = function
        return function

    return register


def lift(event: Shape) -> Shape:
    """Upcast an event to the newest version."""
    while step := UPCASTS.get((event["type"], event["v"])):
        event = _one_version_later(event, step(event))
    return event


def _one_version_later(old: Shape, new: Shape) -> Shape:
    if new["type"] != old["type"]:
        return new
    return new | {"v": int(str(old["v"])) + 1}
