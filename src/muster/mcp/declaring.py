"""Tools: how one is declared, and what a client is told about it.

    @tool(may=AGENT, title="Remember a note")
    async def remember(call: McpCall, given: RememberInput) -> Recorded:
        "Note something that you want to know whenever you wake."

The name is the function's, the description is its docstring, and both schemas come from its
signature. A role that may not call a tool is not told of it.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import ModuleType
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import msgspec

from muster.errors import InvalidRequest, MusterError, NoSuchTool
from muster.machines.vocabulary import Role
from muster.mcp.calls import McpCall
from muster.views.problems import problem

EVERYBODY: Final = frozenset(Role)
AGENT: Final = frozenset({Role.AGENT})
PEOPLE: Final = frozenset({Role.OPERATOR, Role.MEMBER})
SPEAKERS: Final = PEOPLE | AGENT

Schema = dict[str, Any]  # JSON Schema: any JSON value
Json = dict[str, Any]  # a result of the protocol: any JSON value

InputT = TypeVar("InputT", bound="ToolInput")
AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


class ToolInput(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The arguments of a tool."""


class NoInput(ToolInput, frozen=True, kw_only=True):
    """No arguments."""


Channel = Annotated[
    str | None,
    msgspec.Meta(description="The channel; left out, the one in which you have the turn."),
]
Epoch = Annotated[
    int | None,
    msgspec.Meta(description="The number of the turn. With it, a late call leaves a later turn."),
]


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: its definition for clients, who may call it, and the function that carries it out."""

    name: str
    definition: Json
    may: frozenset[Role]
    arguments: type[ToolInput]
    work: Callable[..., Awaitable[msgspec.Struct]]

    async def call(self, call: McpCall, given: Mapping[str, object]) -> Json:
        """Carry out a call; an error becomes a result, so that a model reads it."""
        try:
            if call.me.role not in self.may:
                raise NoSuchTool(name=self.name)
            return _result(await self.work(call, self._parsed(given)))
        except MusterError as error:
            return failed(error)

    def _parsed(self, given: Mapping[str, object]) -> ToolInput:
        try:
            return msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as wrong:
            raise InvalidRequest(part="arguments", why=str(wrong)) from wrong


def tool(
    *, may: frozenset[Role], title: str, reads: bool = False, repeatable: bool = False
) -> Callable[[Callable[[McpCall, InputT], Awaitable[AnswerT]]], McpTool]:
    """Declare a function as a tool for these roles.

    `reads` says that it changes nothing, `repeatable` that a second call has no further effect.
    """

    def declare(work: Callable[[McpCall, InputT], Awaitable[AnswerT]]) -> McpTool:
        hints = get_type_hints(work)
        name = work.__name__
        definition = {
            "name": name,
            "title": title,
            "description": inspect.cleandoc(work.__doc__ or ""),
            "inputSchema": schema_of(hints["given"]),
            "outputSchema": schema_of(hints["return"]),
            "annotations": {
                "readOnlyHint": reads,
                "idempotentHint": reads or repeatable,
                "destructiveHint": False,
                "openWorldHint": False,
            },
        }
        return McpTool(
            name=name, definition=definition, may=may, arguments=hints["given"], work=work
        )

    return declare


def tools_in(modules: Iterable[ModuleType]) -> dict[str, McpTool]:
    """Every tool that these modules declare, by name, in their order."""
    found = (value for module in modules for value in vars(module).values())
    return {each.name: each for each in found if isinstance(each, McpTool)}


def schema_of(kind: type[msgspec.Struct]) -> Schema:
    """The schema of a struct, an object at its root as the protocol wants it."""
    found = msgspec.json.schema(kind)
    parts: Schema = found["$defs"]
    schema: Schema = parts.pop(kind.__name__)
    for each in (schema, *parts.values()):  # names of classes tell a model nothing
        each.pop("title", None)
    schema.pop("description", None)
    return {**schema, "$defs": parts} if parts else schema


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def _result(answer: msgspec.Struct) -> Json:
    content = [{"type": "text", "text": msgspec.json.encode(answer).decode()}]
    return {"content": content, "structuredContent": msgspec.to_builtins(answer), "isError": False}


def failed(error: MusterError) -> Json:
    """An error as the result of a tool: the sentence, and the problem document.

    The document is text: clients check structured content by the schema of the answer.
    """
    document = msgspec.json.encode(problem(error), enc_hook=str).decode()
    content = [{"type": "text", "text": text} for text in (str(error), document)]
    return {"content": content, "isError": True}
