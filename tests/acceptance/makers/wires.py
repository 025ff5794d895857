"""The APIs of several makers' models: what a request asks, and how an answer is spelled."""

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from muster.testing import model_script, model_wire

Json = Any  # a request or an answer, as JSON has it

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20


REFUSED = "muster did not allow this"
"""How muster begins to tell the reason of a refusal, which belongs to the work before it."""


class Asked(NamedTuple):
    """A request, as far as a script looks at it."""

    text: str
    """The last text of a person."""

    results: Sequence[str] = ()
    """The results of tools since that text."""

    def told(self, text: str) -> "Asked":
        """The request with one more text."""
        if text.startswith(REFUSED) and "do: " not in text:
            return self.returned(text)
        return Asked(text)

    def returned(self, result: str) -> "Asked":
        """The request with one more result."""
        return Asked(self.text, [*self.results, result])


class Step(NamedTuple):
    """An answer: a text, or the call of a tool."""

    text: str = ""
    tool: str = ""
    arguments: Json = None


class Wire:
    """The API of chat completions, as opencode and Qwen Code use it."""

    write, path, shell = "write_file", "file_path", "run_shell_command"
    media_type = "text/event-stream"
    end = '"finish_reason": "stop"'
    """In the chunk that ends a text."""

    def asked(self, body: Json) -> Asked:
        asked = Asked("")
        for message in body["messages"]:
            if message["role"] == "user":
                asked = asked.told(_text(message["content"]))
            elif message["role"] == "tool":
                asked = asked.returned(_text(message["content"]))
        return asked

    def call(self, tool: str, path: str, number: int) -> Step:
        """A call of the tool that writes a file."""
        return Step(tool=tool, arguments={self.path: path, "content": f"{number}\n"})

    def run(self, command: str) -> Step:
        """A call of the tool that runs a command."""
        arguments = {"command": command, "description": "It runs.", "is_background": False}
        return Step(tool=self.shell, arguments=arguments)

    def answer(self, step: Step, number: int) -> Iterator[str]:
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        delta: Json = {"role": "assistant", "content": step.text}
        if step.tool:
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            delta = {"role": "assistant", "tool_calls": [call]}
        yield _data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        why = "tool_calls" if step.tool else "stop"
        yield _data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]})
        usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
        yield _data({**base, "choices": [], "usage": {**usage, "total_tokens": 120}})
        yield "data: [DONE]\n\n"

    def beginning(self, text: str) -> str:
        """A text whose end does not come."""
        chunks = self.answer(Step(text=text), 0)
        return "".join(takewhile(lambda chunk: self.end not in chunk, chunks))


class PlainWire(Wire):
    """The same API, with an answer as a whole."""

    media_type = "application/json"

    def beginning(self, text: str) -> str:
        return ""

    def answer(self, step: Step, number: int) -> Iterator[str]:
        message = {"role": "assistant", "content": step.text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        head = {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted"}
        yield json.dumps({**head, "choices": [choice]})


class OpencodeWire(Wire):
    write, path, shell = "write", "filePath", "bash"


class GeminiWire(Wire):
    """The API of Gemini."""

    def asked(self, body: Json) -> Asked:
        asked = Asked("")
        for content in body.get("contents", []):
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    asked = asked.returned(json.dumps(part["functionResponse"]["response"]))
                elif content.get("role") == "user" and "text" in part:
                    asked = asked.told(part["text"])
        return asked

    def answer(self, step: Step, number: int) -> Iterator[str]:
        part: Json = {"text": step.text}
        if step.tool:
            part = {"functionCall": {"name": step.tool, "args": step.arguments}}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS}
        yield _data(
            {
                "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {**usage, "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS},
            }
        )

    def beginning(self, text: str) -> str:
        return "".join(self.answer(Step(text=text), 0)).replace('"finishReason": "STOP", ', "")


class ClaudeWire(Wire):
    """The API of messages, as Claude Code uses it."""

    write, shell = "Write", "Bash"
    end = "content_block_stop"

    def run(self, command: str) -> Step:
        return Step(tool=self.shell, arguments={"command": command, "description": "It runs."})

    def asked(self, body: Json) -> Asked:
        asked = Asked("")
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks if message["role"] == "user" else ():
                if block["type"] == "tool_result":
                    asked = asked.returned(_text(block["content"]))
                elif block["type"] == "text" and "<system-reminder>" not in block["text"]:
                    asked = asked.told(block["text"])
        return asked

    def answer(self, step: Step, number: int) -> Iterator[str]:
        part = model_script.Tool(step.tool, step.arguments) if step.tool else step.text
        used = model_script.Usage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS)
        for chunk in model_wire.stream([part, used], "scripted"):
            if isinstance(chunk, bytes):
                yield chunk.decode()


class ResponsesWire(Wire):
    """The API of responses, as Codex uses it."""

    write, shell = "apply_patch", "exec_command"
    end = "response.output_item.done"

    def asked(self, body: Json) -> Asked:
        asked = Asked("")
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "message" and item["role"] == "user":
                asked = asked.told(_text(item["content"]))
            elif kind.endswith("_output"):
                asked = asked.returned(_text(item["output"]))
        return asked

    def call(self, tool: str, path: str, number: int) -> Step:
        patch = f"*** Begin Patch\n*** Add File: {path}\n+{number}\n*** End Patch\n"
        return Step(tool=tool, arguments=patch)

    def run(self, command: str) -> Step:
        # else Codex leaves a long command to itself after ten seconds, and goes on
        return Step(tool=self.shell, arguments={"cmd": command, "yield_time_ms": 30_000})

    def answer(self, step: Step, number: int) -> Iterator[str]:
        content = [{"type": "output_text", "text": step.text}]
        item: Json = {"type": "message", "role": "assistant", "content": content}
        yield _event("response.created", response={"id": "r"})
        if step.tool:
            item = {"call_id": f"call_{number}", "name": step.tool}
            if isinstance(step.arguments, str):
                item |= {"type": "custom_tool_call", "input": step.arguments}
            else:
                item |= {"type": "function_call", "arguments": json.dumps(step.arguments)}
        else:
            yield _event("response.output_item.added", item={**item, "content": []})
            yield _event("response.output_text.delta", delta=step.text, item_id="m")
        yield _event("response.output_item.done", item=item)
        usage = {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        yield _event("response.completed", response={"id": "r", "usage": usage})


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content or ())


def _data(message: Json) -> str:
    return f"data: {json.dumps(message)}\n\n"


def _event(kind: str, **fields: object) -> str:
    return f"event: {kind}\n{_data({'type': kind, **fields})}"
