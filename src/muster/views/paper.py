"""The export file of a team: its documents and messages as JSON, for another machine.

`muster export` writes a `TeamPaper`; `muster import` and `POST /api/import` read a `LoosePaper`,
which older and other programs can write too.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from muster.errors import Invalid, Malformed
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.teams.papers import (
    LooseDocument,
    LooseMessage,
    check_document,
    check_messages,
    parse_document,
    parse_message,
)

VERSION: Final = 1
"""The format's version; a change that older versions would misread increases it."""

FORMAT: Final = "muster-team"
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class TeamPaper(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The documents and messages of a team's agents."""

    format: Literal["muster-team"]
    version: int
    human: str
    documents: tuple[AgentDocument, ...]
    messages: tuple[MessageCopy, ...]


class LoosePaper(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An export file before validation."""

    format: Literal["muster-team"] = "muster-team"
    version: int = VERSION
    documents: tuple[LooseDocument, ...] = ()
    messages: tuple[LooseMessage, ...] = ()


def documents_in(paper: LoosePaper) -> tuple[AgentDocument, ...]:
    """The documents of a file, normalised; a file with any invalid part is refused."""
    if not 1 <= paper.version <= VERSION:
        why = f"has version {paper.version}; this muster reads version {VERSION}. Update muster"
        raise Invalid(what="the file", why=why)
    documents = tuple(parse_document(each) for each in paper.documents)
    for document in documents:
        check_document(document)
    return documents


def messages_in(paper: LoosePaper) -> tuple[MessageCopy, ...]:
    """The messages of a file, normalised; a file with any invalid one is refused."""
    messages = tuple(map(parse_message, paper.messages))
    check_messages(messages)
    return messages


def read_paper(content: bytes, what: str) -> LoosePaper:
    """Parse the content of a file, or refuse it with what is wrong."""
    try:
        return msgspec.json.decode(content, type=LoosePaper)
    except msgspec.ValidationError as wrong:
        raise Invalid(what=what, why=f"is not an exported team: {wrong}") from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Malformed(what=what, why=why_not_json(content, wrong)) from wrong


def why_not_json(content: bytes, wrong: Exception) -> str:
    """Why a text is not JSON. A parser calls half of a surrogate pair the end of its input."""
    halved = _SURROGATE.search(content) if "truncated" in str(wrong) else None
    if halved is None:
        return f"is not JSON: {wrong}"
    return f"is not JSON: {halved[0].decode()} is half of a surrogate pair, or the text ends early"


def write_paper(
    human: str, documents: Iterable[AgentDocument], messages: Iterable[MessageCopy]
) -> bytes:
    """The content of a team's export file: the same bytes for the same team."""
    paper = TeamPaper(
        format=FORMAT,
        version=VERSION,
        human=human,
        documents=tuple(documents),
        messages=tuple(messages),
    )
    return msgspec.json.format(msgspec.json.encode(paper), indent=1) + b"\n"
