"""Answers: the records that HTTP sends, the command line prints and the client reads.

Records only, spelled as on the wire, with names in place of seat numbers. They import the words of
the machines (ids, vocabulary, states, documents) and nothing that decides or stores, so that a
client loads no server. The functions that build them are beside this folder, by subject.
"""

import msgspec


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A record that is shown."""


class Recorded(View, frozen=True, kw_only=True):
    """The receipt for a request: its place in the log, which for a message is the message's."""

    seq: int
    repeated: bool = False
    """Whether the log had it already under the same idempotency key, and nothing was added."""

    delivered_to: tuple[str, ...] = ()
    """For a message, the agents that are handed it now; the others get it with their next turn."""

    effect: str = ""
    """What a message, or a person's decision about a turn, did to the turn, in a sentence."""
