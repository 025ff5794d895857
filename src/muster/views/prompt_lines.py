"""A message as a line of a prompt, for programs that muster runs."""

import json
from typing import Final

from muster.machines.attachments import stored_path
from muster.machines.turns.speech import indented
from muster.machines.vocabulary import AttachedFile
from muster.views.answers.messages import HandedMessage, MessageKind
from muster.views.quotes import shortened

QUOTE_CHARS: Final = 60


def prompt_line(message: HandedMessage) -> str:
    """The speaker, the message that it answers, the text, and the places of its files.

    The further lines are indented, also those of a person: nobody can speak for another one with a
    line break. Orders of muster to the lead stay as they are; what they quote is framed in them.
    """
    is_order = message.kind is MessageKind.NOTICE and message.channel is None
    notes: list[str] = []
    if message.again:
        notes.append("told before")
    if message.kind is MessageKind.NOTICE and not is_order:
        notes.append("notice")
    if message.quoted is not None:
        short = shortened(message.quoted.text, QUOTE_CHARS)
        notes.append(
            f"in reply to {message.quoted.speaker}: {json.dumps(short, ensure_ascii=False)}"
        )
    remark = f" ({'; '.join(notes)})" if notes else ""
    text = message.text if is_order else indented(message.text)
    lines = [f"[{message.speaker}]{remark}: {text}"]
    lines += [_file(each) for each in message.files]
    return "\n".join(lines)


def _file(file: AttachedFile) -> str:
    place = f"$MUSTER_HOME/{stored_path(file.digest)}"
    return f"[file {file.name}, {file.size} bytes]: {place} (or GET /api/files/{file.digest})"
