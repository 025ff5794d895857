"""A team in a file: its documents and messages as JSON, from one machine to another.

`muster export` writes a `TeamPaper`; `muster import` and `POST /api/import` read a `LoosePaper`,
which older and other programs can write too.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from muster.errors import Invalid, Malformed
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.teams.papers import LooseDocument, check_document, check_message, tidied

VERSION: Final = 1
"""Grows when a muster that knows only the version before would misread a file."""

FORMAT: Final = "muster-team"


class TeamPaper(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that is known of a team's agents, and all that they said and were told."""

    format: Literal["muster-team"]
    version: int
    human: str
    documents: tuple[AgentDocument, ...]
    messages: tuple[MessageCopy, ...]


class LoosePaper(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A team in a file, as it comes in."""

    format: Literal["muster-team"] = "muster-team"
    version: int = VERSION
    documents: tuple[LooseDocument, ...] = ()
    messages: tuple[MessageCopy, ...] = ()


def documents_in(paper: LoosePaper) -> tuple[AgentDocument, ...]:
    """The documents of a paper as they are meant; all of it is checked, or it is refused."""
    if not 1 <= paper.version <= VERSION:
        why = f"is of version {paper.version}; this muster knows version {VERSION}. Update muster"
        raise Invalid(what="the file", why=why)
    documents = tuple(tidied(each) for each in paper.documents)
    for document in documents:
        check_document(document)
    for message in paper.messages:
        check_message(message)
    return documents


def read_paper(content: bytes, what: str) -> LoosePaper:
    """A paper from a file's content, or a refusal that says what is wrong with the file."""
    try:
        return msgspec.json.decode(content, type=LoosePaper)
    except msgspec.ValidationError as wrong:
        raise Invalid(what=what, why=f"is no exported team: {wrong}") from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Malformed(what=what, why=f"is not JSON: {wrong}") from wrong


def write_paper(
    human: str, documents: Iterable[AgentDocument], messages: Iterable[MessageCopy]
) -> bytes:
    """A team as the content of a file: the same bytes for the same team."""
    paper = TeamPaper(
        format=FORMAT,
        version=VERSION,
        human=human,
        documents=tuple(documents),
        messages=tuple(messages),
    )
    return msgspec.json.format(msgspec.json.encode(paper), indent=1) + b"\n"
