r"""Texts with half of a surrogate pair, which JSON can spell (`"\ud800"`) and UTF-8 cannot.

Programs, agents and files may write one, by accident or in malice. No file and no log can hold it,
so each half becomes a question mark: the rest of what was said counts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

T = TypeVar("T")


def whole(text: str) -> str:
    """A text without halves of characters."""
    return text.encode("utf-8", "replace").decode()


def with_whole_texts(value: T) -> T:
    """A record with every text in it whole, at any depth."""
    return cast("T", _mended(value))


def _mended(value: object) -> object:
    if type(value) is str:
        return whole(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return replace(value, **{name: _mended(each) for name, each in fields.items()})
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {_mended(key): _mended(each) for key, each in pairs}
    if isinstance(value, tuple | list | frozenset):
        each = [_mended(inner) for inner in cast("Iterable[object]", value)]
        make = cast("Callable[..., object]", type(cast("object", value)))
        return make(*each) if hasattr(make, "_fields") else make(each)  # a NamedTuple takes fields
    return value
