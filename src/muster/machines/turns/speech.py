"""Words of a speaker as lines: `[Lyra]: text`, with the further lines indented.

What agents write is hostile text. A line that begins with `[Name]:` is a message of that speaker,
so no further line of a message may begin in the first column, and no name may look like a speaker
with a channel.
"""

from typing import Final

INDENT: Final = "    "


def speaker_label(name: str, channel: str | None) -> str:
    """A speaker and where it spoke: `Lyra #design`. No name of an agent has a `#` in it."""
    plain = name.replace("#", "")
    return plain if channel is None else f"{plain} #{channel}"


def indented(text: str) -> str:
    """A text whose further lines are indented: none of them can pass for another speaker's."""
    first, *more = text.splitlines() or [""]
    return "\n".join((first, *(INDENT + line for line in more)))
