"""The JSON of a request. Text that has no UTF-8 form is repaired, and never lost."""

from typing import cast

import msgspec


def json_bytes(body: object) -> bytes:
    """A body as JSON; lone surrogates in its texts become U+FFFD.

    A program gets such text from a model's output that was cut, or from bytes that it read with
    `surrogateescape`.
    """
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_repaired(msgspec.to_builtins(body)))


def _repaired(value: object) -> object:
    if isinstance(value, str):
        # Two surrogates that belong together are one character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_repaired(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {name: _repaired(each) for name, each in fields.items()}
    return value
