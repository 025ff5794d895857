"""Resources: the team, channels, transcripts and conversations, by their URIs.

muster://team                          who is in the team
muster://channels/design               all that goes on in a channel
muster://channels/design/transcript    its newest messages, as Markdown
muster://agents/Ada/transcript         an agent's thread with the human
muster://conversations/conv-3          a delegated request, with its trace and files
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from muster.client import delegation, requests
from muster.errors import NotFound
from muster.mcp.calls import McpCall
from muster.mcp.declaring import Json, NoInput
from muster.mcp.tools import TOOLS

SCHEME: Final = "muster://"
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"
MESSAGES: Final = 100
"""Messages in a transcript, the newest: a model has to read them all."""


class ResourceText(NamedTuple):
    """The content of a resource."""

    text: str
    media_type: str


Read = Callable[[McpCall, str], Awaitable[ResourceText]]


class ResourceKind(NamedTuple):
    """A kind of resource: its URI with a name in braces, and how one is read."""

    uri: str
    name: str
    description: str
    media_type: str
    read: Read

    def match(self, uri: str) -> str | None:
        """The name in a URI of this kind, decoded; nothing if it is of another kind."""
        before, _, after = self.uri.partition("{name}")
        if not (uri.startswith(before) and uri.endswith(after)):
            return None
        name = uri.removeprefix(before).removesuffix(after)
        return unquote(name) if name and "/" not in name else None


async def _team(call: McpCall) -> ResourceText:
    return _as_json(await TOOLS["who"].work(call, NoInput()))


async def _channel(call: McpCall, name: str) -> ResourceText:
    return _as_json(await call.ask(requests.channel(name)))


async def _channel_transcript(call: McpCall, name: str) -> ResourceText:
    page = await call.ask(requests.messages(name, limit=MESSAGES, newest_first=True))
    return as_markdown((each.speaker, each.text) for each in page.messages[::-1])


async def _agent_transcript(call: McpCall, name: str) -> ResourceText:
    page = await call.ask(requests.thread(name, limit=MESSAGES))
    return as_markdown((each.speaker_name, each.text) for each in page.messages)


def as_markdown(said: Iterable[tuple[str, str]]) -> ResourceText:
    """Messages. Their further lines are indented: none of them can pass for another speaker's."""
    lines = ((who, "\n    ".join(text.splitlines())) for who, text in said)
    return ResourceText("\n\n".join(f"**{who}**: {text}" for who, text in lines), MARKDOWN)


async def _conversation(call: McpCall, name: str) -> ResourceText:
    return _as_json(await call.ask(delegation.conversation(name)))


def _as_json(answer: msgspec.Struct) -> ResourceText:
    return ResourceText(msgspec.json.encode(answer).decode(), JSON)


TEAM: Final = f"{SCHEME}team"
KINDS: Final = (
    ResourceKind(
        f"{SCHEME}channels/{{name}}",
        "channel",
        "All that goes on in a channel: ring, holder, deadline, members and rules.",
        JSON,
        _channel,
    ),
    ResourceKind(
        f"{SCHEME}channels/{{name}}/transcript",
        "channel-transcript",
        "The newest messages of a channel, oldest first.",
        MARKDOWN,
        _channel_transcript,
    ),
    ResourceKind(
        f"{SCHEME}agents/{{name}}/transcript",
        "agent-transcript",
        "The newest messages of an agent's thread with the human.",
        MARKDOWN,
        _agent_transcript,
    ),
    ResourceKind(
        f"{SCHEME}conversations/{{name}}",
        "conversation",
        "A delegated request, with its trace and files.",
        JSON,
        _conversation,
    ),
)


def templates() -> Json:
    """The kinds of resources."""
    return {
        "resourceTemplates": [
            {
                "uriTemplate": each.uri,
                "name": each.name,
                "description": each.description,
                "mimeType": each.media_type,
            }
            for each in KINDS
        ]
    }


async def listed(call: McpCall) -> Json:
    """The team, and every channel that the caller may read."""
    found = (await call.ask(requests.channels())).channels
    team = {
        "uri": TEAM,
        "name": "team",
        "description": "The agents of the team, and whose turn it is.",
        "mimeType": JSON,
    }
    return {"resources": [team, *(_listed_channel(each.channel) for each in found)]}


def _listed_channel(channel: str) -> Json:
    return {
        "uri": f"{SCHEME}channels/{quote(channel, safe='')}/transcript",
        "name": channel,
        "description": f"The newest messages of the channel {channel}, oldest first.",
        "mimeType": MARKDOWN,
    }


async def read(call: McpCall, uri: str) -> Json:
    """The content of a resource."""
    found = await _found(call, uri)
    content = {"uri": uri, "mimeType": found.media_type, "text": found.text}
    return {"contents": [content]}


async def _found(call: McpCall, uri: str) -> ResourceText:
    if uri == TEAM:
        return await _team(call)
    for each in KINDS:
        name = each.match(uri)
        if name is not None:
            return await each.read(call, name)
    raise NotFound(kind="resource", name=uri)
