"""Bodies and queries: bytes and parameters become structs, or an error says what is wrong."""

from enum import Enum
from typing import Final, Literal, TypeVar, get_args, get_origin

import msgspec
from starlette.requests import Request

from muster import limits
from muster.errors import Invalid, InvalidRequest, Malformed, TooLarge
from muster.inbox.errands import Known
from muster.machines.ids import ChannelId
from muster.views.paper import why_not_json

NUMBER_MAX: Final = 2**63 - 1
"""The largest number that the store can hold."""

ParsedT = TypeVar("ParsedT", bound=msgspec.Struct)


def parse_query(request: Request, kind: type[ParsedT]) -> ParsedT:
    """The query of a request as a struct."""
    try:
        return _in_range(msgspec.convert(dict(request.query_params), kind, strict=False))
    except msgspec.ValidationError as wrong:
        raise InvalidRequest(part="query", why=_explained(wrong, kind)) from wrong


def parse_body(content: bytes, kind: type[ParsedT]) -> ParsedT:
    """The JSON body of a request as a struct; an empty body is an empty object."""
    try:
        return _in_range(msgspec.json.decode(content or b"{}", type=kind))
    except msgspec.ValidationError as wrong:
        raise InvalidRequest(part="body", why=_explained(wrong, kind)) from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Malformed(what="The request body", why=why_not_json(content, wrong)) from wrong


def _explained(wrong: msgspec.ValidationError, kind: type[msgspec.Struct]) -> str:
    """The error of a field; where the field has a list of values, with that list."""
    text = str(wrong)
    for field in msgspec.structs.fields(kind):
        if text.startswith("Invalid enum value") and text.endswith(f"`$.{field.encode_name}`"):
            choices = ", ".join(repr(str(each)) for each in _choices(field.type))
            return f"{text}; it is one of {choices}"
    return text


def _choices(hint: object) -> list[object]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [member.value for member in hint]
    return [choice for each in get_args(hint) for choice in _choices(each)]


def _in_range(parsed: ParsedT) -> ParsedT:
    """Refuse numbers that the store cannot hold, and NaN."""
    for name in parsed.__struct_fields__:
        value = getattr(parsed, name)
        if isinstance(value, int | float) and not -NUMBER_MAX <= value <= NUMBER_MAX:
            raise Invalid(what=name, why="is out of range")
    return parsed


def parse_known(text: str) -> Known:
    """The turns in `design:7,reviews:3`."""
    known: dict[ChannelId, int] = {}
    for part in filter(None, text.split(",")):
        channel, colon, epoch = part.rpartition(":")
        if not colon or not (epoch.isascii() and epoch.isdecimal()) or len(epoch) > 18:
            raise Invalid(what=f"known {part!r}", why="must be channel:epoch")
        known[ChannelId(channel)] = int(epoch)
    return known


def announced_size(request: Request) -> int:
    """The size of a body that the request announces; the most that is read where it does not."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and len(length) < 16:
        return int(length)
    return limits.REQUEST_BYTES_MAX if "transfer-encoding" in request.headers else 0


async def read_body(request: Request, bytes_max: int = limits.REQUEST_BYTES_MAX) -> bytes:
    """The whole body. One that is too large is read to its end, or its sender reads no answer."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= bytes_max:
            parts.append(part)
        elif size > limits.DISCARDED_BYTES_MAX:
            break
    if size > bytes_max:
        raise TooLarge(limit=bytes_max)
    return b"".join(parts)
