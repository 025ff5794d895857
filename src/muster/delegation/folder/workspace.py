"""The content of a state machine session's folder, computed from its log.

Pure: `files_of` computes the whole folder from a whole log, and `advance` the changes of one more
event, so that a folder can follow its log by appending. `files_of` uses `advance`, so both agree.
`outputs/` is not covered: agents write it.

While an agent has a conversation, muster does not append to its dialogue, because the agent may
write into the file itself; the sections of that time are appended when the agent is done.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from muster.delegation.folder import dialogue
from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.state import MAIN, QUEUE
from muster.machines.vocabulary import DelegationMode, FileChange, Machine, Remark, StatePermissions

STATE_FILE: Final = "state.jsonl"
LIST_FILE: Final = "agent-list.txt"
DIRECTORY_FILE: Final = "AGENT_DIRECTORY.md"
CONVERSATIONS: Final = "conversations"
INDEX_FILE: Final = f"{CONVERSATIONS}/messages.jsonl"
QUEUE_FOLDER: Final = "queue"
DONE_FOLDER: Final = f"{QUEUE_FOLDER}/done"

EVERY_AGENT: Final = "*"
"""The name for all agents in a list of permissions."""


class ConversationFiles(msgspec.Struct):
    """The state of an open conversation that its files depend on."""

    started: str
    text: str
    speaker: str
    state: str
    routed: str = ""
    agents: list[str] = msgspec.field(default_factory=list[str])
    files: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """A description of each file that was written, by path."""

    answer: str = ""
    held: str = ""
    """Sections to append to the dialogue when the agent is done."""


class Projection(msgspec.Struct):
    """The last event that a folder includes, and the state that the next event depends on."""

    seq: int = 0
    root: str = ""
    moved: str = ""
    """Where the folder is, if it is not where the session was started."""

    mode: DelegationMode = DelegationMode.ORCHESTRATOR
    permissions: dict[str, dict[str, tuple[str, ...]]] = {}
    talks: dict[str, ConversationFiles] = {}
    sizes: dict[str, int] = {}
    """The size of each file that grows by appending."""

    stamps: dict[str, tuple[int, int]] = {}
    """The size and the time of each file that muster alone writes, by which damage is found."""


class FileWritten(NamedTuple):
    """Bytes to write at an offset, after which the file ends; no offset replaces the file."""

    path: str
    data: bytes
    at: int | None = None


class FileRemoved(NamedTuple):
    """A file to delete."""

    path: str


class FolderMade(NamedTuple):
    """A folder to create."""

    path: str


Change = FileWritten | FileRemoved | FolderMade


def outputs_of(conversation: str) -> str:
    """The outputs folder of a conversation, relative to the session's folder."""
    return f"{CONVERSATIONS}/{conversation}/outputs"


def dialogue_of(conversation: str) -> str:
    """The dialogue file of a conversation, relative to the session's folder."""
    return f"{CONVERSATIONS}/{conversation}/dialogue.md"


def files_of(events: Iterable[Event], moved: str = "") -> dict[str, bytes]:
    """Every file of the folder, by its path in it; the folder may have `moved` elsewhere."""
    files: dict[str, bytes] = {}
    seen = Projection(moved=moved)
    for event in events:
        for change in advance(seen, event):
            match change:
                case FileWritten(path, data, None):
                    files[path] = data
                case FileWritten(path, data, at):
                    files[path] = files.get(path, b"")[:at] + data
                case FileRemoved(path):
                    files.pop(path, None)
                case FolderMade():
                    pass
    return files


def advance(seen: Projection, event: Event) -> list[Change]:
    """The changes of the folder by one event; updates `seen`."""
    seen.seq = event.seq
    handle = _HANDLERS.get(type(event.fact))
    return [] if handle is None else handle(_EventWriter(seen, event), event.fact)


class _EventWriter:
    """Collects the changes of one event."""

    def __init__(self, seen: Projection, event: Event) -> None:
        self.seen = seen
        self.at = event.ts
        self.now = dialogue.stamp(event.ts)

    def append(self, path: str, text: str) -> FileWritten:
        data = text.encode("utf-8", "replace")
        at = self.seen.sizes.get(path, 0)
        self.seen.sizes[path] = at + len(data)
        return FileWritten(path, data, at)

    def log(self, kind: str, state: str, **more: object) -> FileWritten:
        """One line of `state.jsonl`."""
        line = {"timestamp": self.now, "type": kind, "state": state, **more}
        return self.append(STATE_FILE, _line(line))

    def place(self, conversation: str, state: str) -> dict[str, object]:
        """The workspace and the permissions of a state, for a line of `state.jsonl`."""
        workspace = f"{self.seen.root}/{outputs_of(conversation)}/"
        return {"workspace": workspace, "permissions": self.allowed(state)}

    def allowed(self, state: str) -> dict[str, tuple[str, ...]]:
        known = self.seen.permissions
        return known.get(state) or known.get(MAIN if state == QUEUE else EVERY_AGENT) or {}

    def say(self, conversation: str, text: str, *, now: bool = False) -> list[Change]:
        """Append to a dialogue, or hold the text until the agent is done."""
        talk = self.seen.talks.get(conversation)
        if talk is None:
            return []
        talk.held += text
        if talk.state not in (MAIN, QUEUE) and not now:
            return []
        text, talk.held = talk.held, ""
        return [self.append(dialogue_of(conversation), text)]

    def queued(self, conversation: str) -> list[Change]:
        """The queue file of an open conversation, in response mode."""
        if self.seen.mode is not DelegationMode.RESPONSE:
            return []
        talk = self.seen.talks[conversation]
        data = _pretty(
            {
                "conversation_id": conversation,
                "timestamp": talk.started,
                "from": talk.speaker,
                "text": talk.text,
                "for": talk.routed or None,
                "claimed_by": talk.state if talk.state != QUEUE else None,
            }
        )
        return [FileWritten(f"{QUEUE_FOLDER}/{_number(conversation)}.json", data)]


# ── event handlers ────────────────────────────────────────────────────────────────────────────────


def _started(writer: _EventWriter, fact: e.DelegationStarted) -> list[Change]:
    seen = writer.seen
    seen.root, seen.mode = seen.moved or fact.path, fact.mode
    seen.permissions = {each.state: _lists(each) for each in fact.permissions}
    changes: list[Change] = [FolderMade(CONVERSATIONS)]
    if fact.mode is DelegationMode.RESPONSE:
        changes += [FolderMade(QUEUE_FOLDER), FolderMade(DONE_FOLDER)]
    home = QUEUE if fact.mode is DelegationMode.RESPONSE else MAIN
    return [
        *changes,
        FileWritten(LIST_FILE, fact.agent_list.encode("utf-8", "replace")),
        FileWritten(DIRECTORY_FILE, fact.directory.encode("utf-8", "replace")),
        writer.append(INDEX_FILE, ""),
        writer.log(
            "session_init",
            home,
            parameters={"mode": fact.mode.value, "path": seen.root},
            agent_descriptions=f"{seen.root}/{DIRECTORY_FILE}",
            agent_list=f"{seen.root}/{LIST_FILE}",
            permissions=writer.allowed(home),
        ),
    ]


def _added(writer: _EventWriter, fact: e.DescriptionsAdded) -> list[Change]:
    return [
        FileWritten(LIST_FILE, fact.agent_list.encode("utf-8", "replace")),
        FileWritten(DIRECTORY_FILE, fact.directory.encode("utf-8", "replace")),
    ]


def _ended(writer: _EventWriter, fact: e.DelegationEnded) -> list[Change]:
    home = QUEUE if writer.seen.mode is DelegationMode.RESPONSE else MAIN
    return [writer.log("session_end", home, reason=fact.reason)]


def _opened(writer: _EventWriter, fact: e.ConversationStart) -> list[Change]:
    home = QUEUE if writer.seen.mode is DelegationMode.RESPONSE else MAIN
    talk = ConversationFiles(
        started=writer.now, text=fact.text, speaker=fact.speaker_name, state=home
    )
    writer.seen.talks[fact.conversation] = talk
    return [
        FolderMade(outputs_of(fact.conversation)),
        writer.log(
            "conversation_start",
            home,
            conversation_id=fact.conversation,
            **writer.place(fact.conversation, home),
        ),
        *writer.say(fact.conversation, dialogue.opened(fact, writer.at)),
        *writer.queued(fact.conversation),
    ]


def _routed(writer: _EventWriter, fact: e.Routed) -> list[Change]:
    writer.seen.talks[fact.conversation].routed = fact.to
    told = writer.say(fact.conversation, dialogue.routed(fact, writer.at))
    return [*told, *writer.queued(fact.conversation)]


def _denied(writer: _EventWriter, fact: e.PermissionDenied) -> list[Change]:
    return writer.say(fact.conversation, dialogue.denied(fact, writer.at))


def _remarked(writer: _EventWriter, fact: e.DialogueRecorded) -> list[Change]:
    if fact.kind in (Remark.ANSWER, Remark.REPORT):
        writer.seen.talks[fact.conversation].answer = fact.text
    return writer.say(fact.conversation, dialogue.remarked(fact, writer.at))


def _filed(writer: _EventWriter, fact: e.FileRecorded) -> list[Change]:
    talk = writer.seen.talks[fact.conversation]
    base = "" if fact.outside else f"{writer.seen.root}/{outputs_of(fact.conversation)}/"
    if fact.change is FileChange.DELETED:
        talk.files.pop(base + fact.path, None)
    else:
        talk.files[base + fact.path] = f"{fact.change} by {fact.state}, {fact.size} bytes"
    return writer.say(fact.conversation, dialogue.filed(fact, writer.at))


def _moved(writer: _EventWriter, fact: e.StateTransition) -> list[Change]:
    if fact.machine is not Machine.DELEGATION or fact.conversation is None:
        return []
    talk = writer.seen.talks[fact.conversation]
    talk.state = fact.target
    if fact.target not in (MAIN, QUEUE) and fact.target not in talk.agents:
        talk.agents.append(fact.target)
    line = writer.log(
        "transition",
        fact.target,
        trigger=dialogue.reason_of(fact),
        previous=fact.source,
        conversation_id=fact.conversation,
        **writer.place(fact.conversation, fact.target),
    )
    told = writer.say(fact.conversation, dialogue.moved(fact, writer.at), now=True)
    return [line, *told, *writer.queued(fact.conversation)]


def _closed(writer: _EventWriter, fact: e.ConversationEnd) -> list[Change]:
    conversation = fact.conversation
    told = writer.say(conversation, dialogue.closed(fact, writer.at))
    talk = writer.seen.talks.pop(conversation)
    writer.seen.sizes.pop(dialogue_of(conversation))  # it never grows again
    line = writer.log(
        "conversation_end",
        talk.state,
        conversation_id=conversation,
        outcome=fact.outcome,
        summary=fact.summary,
        **writer.place(conversation, talk.state),
    )
    entry = {
        "conversation_id": conversation,
        "timestamp": talk.started,
        "summary": fact.summary,
        "files_created": [{"path": each, "summary": what} for each, what in talk.files.items()],
        "agents_used": talk.agents,
    }
    changes = [*told, line, writer.append(INDEX_FILE, _line(entry))]
    if writer.seen.mode is DelegationMode.RESPONSE:
        result = {**entry, "text": talk.text, "outcome": fact.outcome, "result": talk.answer}
        changes.append(FileRemoved(f"{QUEUE_FOLDER}/{_number(conversation)}.json"))
        changes.append(FileWritten(f"{DONE_FOLDER}/{_number(conversation)}.json", _pretty(result)))
    return changes


def _logged(writer: _EventWriter, fact: e.ConversationLogged) -> list[Change]:
    return [writer.append(INDEX_FILE, fact.entry + "\n")]


# Each value takes a fact of the very type that is its key, which Any stands for.
_HANDLERS: Final[dict[type[Fact], Callable[[_EventWriter, Any], list[Change]]]] = {
    e.DelegationStarted: _started,
    e.DescriptionsAdded: _added,
    e.DelegationEnded: _ended,
    e.ConversationStart: _opened,
    e.Routed: _routed,
    e.PermissionDenied: _denied,
    e.DialogueRecorded: _remarked,
    e.FileRecorded: _filed,
    e.StateTransition: _moved,
    e.ConversationLogged: _logged,
    e.ConversationEnd: _closed,
}


KINDS: Final = frozenset(str(fact.__struct_config__.tag) for fact in _HANDLERS)
"""The types of events that change the folder."""


def concerns(fact: Fact) -> bool:
    """Whether an event of this kind may change the folder."""
    if type(fact) is e.StateTransition:
        return fact.machine is Machine.DELEGATION
    return type(fact) in _HANDLERS


def _lists(permissions: StatePermissions) -> dict[str, tuple[str, ...]]:
    names = [name for name in StatePermissions.__struct_fields__ if name != "state"]
    return {name: getattr(permissions, name) for name in names}


def _number(conversation: str) -> str:
    return conversation.removeprefix("conv_")


def _line(entry: Mapping[str, object]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _pretty(entry: Mapping[str, object]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
