"""Prompts as Claude Code takes them: messages of its protocol. Pure."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from muster.engine.ports import PromptImage
from muster.runtimes.claude.protocol.peer import request
from muster.runtimes.prompted.json_lines import JsonObject


def prompt_number(session: str, count: int) -> str:
    """The UUID of a prompt: derived, so that a session needs no source of chance."""
    digits = sha256(f"{session}:{count}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def prompt_content(text: str, images: Sequence[PromptImage]) -> list[JsonObject]:
    """A prompt and its images, as the blocks of a message."""
    blocks: list[JsonObject] = [{"type": "text", "text": text}]
    for image in images:
        data = b64encode(image.content).decode("ascii")
        source = {"type": "base64", "media_type": image.media_type, "data": data}
        blocks.append({"type": "image", "source": source})
    return blocks


def user_message(number: str, content: str | list[JsonObject], *, is_command: bool) -> JsonObject:
    """A prompt as the program takes it: as it is, because others have written in it.

    Otherwise a file whose name somebody mentions after an `@` would be read without any question.
    """
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": "default",
        "uuid": number,
        "client_composed": not is_command,
    }


def cancellation(number: str) -> JsonObject:
    """The request to take a prompt out of the program's queue. What became of it, the program says
    with the prompt's own number."""
    return request(f"muster-{number}", "cancel_async_message", message_uuid=number)
