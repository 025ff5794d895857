"""The wire format of a scripted reply: server-sent events, or one JSON document.

Pure: yields the bytes to send and the pauses; `model_http.py` sends them.
"""

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from muster.testing.model_script import (
    Cut,
    Hold,
    Json,
    OutOfTokens,
    Part,
    Refusal,
    Silence,
    Slow,
    Status,
    Tool,
    Usage,
)

_ERRORS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

Step = bytes | Silence | Hold | Cut
"""A chunk of a stream, or a pause or break in it."""


def refusal(code: int, message: str) -> str:
    """The error document of a status."""
    kind = _ERRORS.get(code, "api_error")
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})


def body_of(status: Status) -> str:
    """The body of a status in the script."""
    return status.body or refusal(status.code, f"the script says {status.code}")


def phrase_of(code: int) -> str:
    """The reason phrase of a status; 529 has no standard one."""
    return HTTPStatus(code).phrase if code in set(HTTPStatus) else "Overloaded"


def _usage(parts: Sequence[Part]) -> dict[str, int]:
    given = [part for part in parts if isinstance(part, Usage)]
    usage = msgspec.to_builtins(given[-1] if given else Usage())
    return {name: count for name, count in usage.items() if name != "type"}


def _block(part: str | Tool) -> dict[str, Json]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    # Unique across servers too: a conversation may outlive this server.
    id_ = f"toolu_{secrets.token_hex(10)}"
    return {"type": "tool_use", "id": id_, "name": part.name, "input": part.input}


def _stop_reason(parts: Sequence[Part]) -> str:
    if any(isinstance(part, Refusal) for part in parts):
        return "refusal"
    if any(isinstance(part, OutOfTokens) for part in parts):
        return "max_tokens"
    return "tool_use" if any(isinstance(part, Tool) for part in parts) else "end_turn"


def document(parts: Sequence[Part], model: str) -> dict[str, Json]:
    """The whole reply as one document."""
    return {
        "id": f"msg_{secrets.token_hex(10)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_block(part) for part in parts if isinstance(part, str | Tool)],
        "stop_reason": _stop_reason(parts),
        "stop_sequence": None,
        "usage": _usage(parts),
    }


def stream(parts: Sequence[Part], model: str) -> Iterator[Step]:
    """The reply as a stream. Pauses at its start come before the first event."""
    lead = [part for part in parts if isinstance(part, Silence | Hold)]
    rest = list(parts)
    while rest and lead and rest[0] is lead[0]:
        yield lead.pop(0)
        rest.pop(0)
    begun: dict[str, Json] = {"content": [], "stop_reason": None}
    yield _event("message_start", message=document(parts, model) | begun)
    delay_s, index = 0.0, 0
    for part in rest:
        match part:
            case Cut() | Silence() | Hold():
                yield part
            case Slow():
                delay_s = part.delay_s
            case str() | Tool():
                yield from _said(part, index, delay_s)
                index += 1
            case _:
                pass
    ended = {"stop_reason": _stop_reason(parts), "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage=_usage(parts))
    yield _event("message_stop")


def _said(part: str | Tool, index: int, delay_s: float) -> Iterator[Step]:
    block = _block(part)
    if isinstance(part, str):
        chunks = re.findall(r"\s*\S+\s*$|\s*\S+|\s+", part) if delay_s else [part]
        empty: dict[str, Json] = {"text": ""}
        deltas = [{"type": "text_delta", "text": chunk} for chunk in chunks]
    else:
        empty = {"input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(part.input)}]
    yield _event("content_block_start", index=index, content_block=block | empty)
    for delta in deltas:
        if delay_s:
            yield Silence(delay_s)
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Json) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
