"""The folder of a state machine session, as its log has it: which bytes stand in which file.

Pure: `files_of` makes the whole folder of a whole log, and `advance` says what one more event
changes, so that a folder can follow its log by appending. Both are the same code. `outputs/` is not
told here: what is in it belongs to those who write it.

While an agent has a conversation its dialogue is not appended to, because the agent may write into
the file itself; what came meanwhile follows when the agent is done.
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
"""Stands for all agents in a list of permissions."""


class Talk(msgspec.Struct):
    """An open conversation, as far as its files need it."""

    started: str
    text: str
    speaker: str
    state: str
    routed: str = ""
    agents: list[str] = msgspec.field(default_factory=list[str])
    files: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """What was written, by its path, and what that is."""

    answer: str = ""
    held: str = ""
    """What comes into its dialogue when the agent is done."""


class Projection(msgspec.Struct):
    """How far a folder has followed its log, and what the next event needs to know."""

    seq: int = 0
    root: str = ""
    mode: DelegationMode = DelegationMode.ORCHESTRATOR
    permissions: dict[str, dict[str, tuple[str, ...]]] = {}
    talks: dict[str, Talk] = {}
    sizes: dict[str, int] = {}
    """How long each file is that is appended to."""


class Written(NamedTuple):
    """Bytes at a place in a file, after which it ends; without a place it has nothing else."""

    path: str
    data: bytes
    at: int | None = None


class Removed(NamedTuple):
    """A file that is no more."""

    path: str


class Made(NamedTuple):
    """A folder that is there."""

    path: str


Change = Written | Removed | Made


def outputs_of(conversation: str) -> str:
    """The folder for what comes of a conversation, seen from the session's."""
    return f"{CONVERSATIONS}/{conversation}/outputs"


def dialogue_of(conversation: str) -> str:
    """The file with a conversation's dialogue, seen from the session's folder."""
    return f"{CONVERSATIONS}/{conversation}/dialogue.md"


def files_of(events: Iterable[Event]) -> dict[str, bytes]:
    """Every file of the folder, by its path in it."""
    files: dict[str, bytes] = {}
    seen = Projection()
    for event in events:
        for change in advance(seen, event):
            match change:
                case Written(path, data, None):
                    files[path] = data
                case Written(path, data, at):
                    files[path] = files.get(path, b"")[:at] + data
                case Removed(path):
                    files.pop(path, None)
                case Made():
                    pass
    return files


def advance(seen: Projection, event: Event) -> list[Change]:
    """What an event changes in the folder; `seen` has it from then on."""
    seen.seq = event.seq
    tell = _TOLD.get(type(event.fact))
    return [] if tell is None else tell(_Page(seen, event), event.fact)


class _Page:
    """One event on its way into the folder."""

    def __init__(self, seen: Projection, event: Event) -> None:
        self.seen = seen
        self.at = event.ts
        self.now = dialogue.stamp(event.ts)

    def append(self, path: str, text: str) -> Written:
        data = text.encode("utf-8", "replace")
        at = self.seen.sizes.get(path, 0)
        self.seen.sizes[path] = at + len(data)
        return Written(path, data, at)

    def log(self, kind: str, state: str, **more: object) -> Written:
        """One line of `state.jsonl`."""
        line = {"timestamp": self.now, "type": kind, "state": state, **more}
        return self.append(STATE_FILE, _line(line))

    def place(self, conversation: str, state: str) -> dict[str, object]:
        """Where the state works, and what it may do."""
        workspace = f"{self.seen.root}/{outputs_of(conversation)}/"
        return {"workspace": workspace, "permissions": self.allowed(state)}

    def allowed(self, state: str) -> dict[str, tuple[str, ...]]:
        known = self.seen.permissions
        return known.get(state) or known.get(MAIN if state == QUEUE else EVERY_AGENT) or {}

    def say(self, conversation: str, text: str, *, now: bool = False) -> list[Change]:
        """Add to a dialogue, or keep it until the agent is done."""
        talk = self.seen.talks.get(conversation)
        if talk is None:
            return []
        talk.held += text
        if talk.state not in (MAIN, QUEUE) and not now:
            return []
        text, talk.held = talk.held, ""
        return [self.append(dialogue_of(conversation), text)]

    def queued(self, conversation: str) -> list[Change]:
        """The file of a message that waits, in response mode."""
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
        return [Written(f"{QUEUE_FOLDER}/{_number(conversation)}.json", data)]


# ── one event each ────────────────────────────────────────────────────────────────────────────────


def _started(page: _Page, fact: e.DelegationStarted) -> list[Change]:
    seen = page.seen
    seen.root, seen.mode = fact.path, fact.mode
    seen.permissions = {each.state: _lists(each) for each in fact.permissions}
    changes: list[Change] = [Made(CONVERSATIONS)]
    if fact.mode is DelegationMode.RESPONSE:
        changes += [Made(QUEUE_FOLDER), Made(DONE_FOLDER)]
    home = QUEUE if fact.mode is DelegationMode.RESPONSE else MAIN
    return [
        *changes,
        Written(LIST_FILE, fact.agent_list.encode("utf-8", "replace")),
        Written(DIRECTORY_FILE, fact.directory.encode("utf-8", "replace")),
        page.append(INDEX_FILE, ""),
        page.log(
            "session_init",
            home,
            parameters={"mode": fact.mode.value, "path": fact.path},
            agent_descriptions=f"{fact.path}/{DIRECTORY_FILE}",
            agent_list=f"{fact.path}/{LIST_FILE}",
            permissions=page.allowed(home),
        ),
    ]


def _ended(page: _Page, fact: e.DelegationEnded) -> list[Change]:
    home = QUEUE if page.seen.mode is DelegationMode.RESPONSE else MAIN
    return [page.log("session_end", home, reason=fact.reason)]


def _opened(page: _Page, fact: e.ConversationStart) -> list[Change]:
    home = QUEUE if page.seen.mode is DelegationMode.RESPONSE else MAIN
    talk = Talk(started=page.now, text=fact.text, speaker=fact.speaker_name, state=home)
    page.seen.talks[fact.conversation] = talk
    return [
        Made(outputs_of(fact.conversation)),
        page.log(
            "conversation_start",
            home,
            conversation_id=fact.conversation,
            **page.place(fact.conversation, home),
        ),
        *page.say(fact.conversation, dialogue.opened(fact, page.at)),
        *page.queued(fact.conversation),
    ]


def _routed(page: _Page, fact: e.Routed) -> list[Change]:
    page.seen.talks[fact.conversation].routed = fact.to
    told = page.say(fact.conversation, dialogue.routed(fact, page.at))
    return [*told, *page.queued(fact.conversation)]


def _denied(page: _Page, fact: e.PermissionDenied) -> list[Change]:
    return page.say(fact.conversation, dialogue.denied(fact, page.at))


def _remarked(page: _Page, fact: e.DialogueRecorded) -> list[Change]:
    if fact.kind in (Remark.ANSWER, Remark.REPORT):
        page.seen.talks[fact.conversation].answer = fact.text
    return page.say(fact.conversation, dialogue.remarked(fact, page.at))


def _filed(page: _Page, fact: e.FileRecorded) -> list[Change]:
    talk = page.seen.talks[fact.conversation]
    base = "" if fact.outside else f"{page.seen.root}/{outputs_of(fact.conversation)}/"
    if fact.change is FileChange.DELETED:
        talk.files.pop(base + fact.path, None)
    else:
        talk.files[base + fact.path] = f"{fact.change} by {fact.state}, {fact.size} bytes"
    return page.say(fact.conversation, dialogue.filed(fact, page.at))


def _moved(page: _Page, fact: e.StateTransition) -> list[Change]:
    if fact.machine is not Machine.DELEGATION or fact.conversation is None:
        return []
    talk = page.seen.talks[fact.conversation]
    talk.state = fact.target
    if fact.target not in (MAIN, QUEUE) and fact.target not in talk.agents:
        talk.agents.append(fact.target)
    line = page.log(
        "transition",
        fact.target,
        trigger=dialogue.reason_of(fact),
        previous=fact.source,
        conversation_id=fact.conversation,
        **page.place(fact.conversation, fact.target),
    )
    told = page.say(fact.conversation, dialogue.moved(fact, page.at), now=True)
    return [line, *told, *page.queued(fact.conversation)]


def _closed(page: _Page, fact: e.ConversationEnd) -> list[Change]:
    conversation = fact.conversation
    told = page.say(conversation, dialogue.closed(fact, page.at))
    talk = page.seen.talks.pop(conversation)
    page.seen.sizes.pop(dialogue_of(conversation))  # it never grows again
    line = page.log(
        "conversation_end",
        talk.state,
        conversation_id=conversation,
        outcome=fact.outcome,
        summary=fact.summary,
        **page.place(conversation, talk.state),
    )
    entry = {
        "conversation_id": conversation,
        "timestamp": talk.started,
        "summary": fact.summary,
        "files_created": [{"path": each, "summary": what} for each, what in talk.files.items()],
        "agents_used": talk.agents,
    }
    changes = [*told, line, page.append(INDEX_FILE, _line(entry))]
    if page.seen.mode is DelegationMode.RESPONSE:
        result = {**entry, "text": talk.text, "outcome": fact.outcome, "result": talk.answer}
        changes.append(Removed(f"{QUEUE_FOLDER}/{_number(conversation)}.json"))
        changes.append(Written(f"{DONE_FOLDER}/{_number(conversation)}.json", _pretty(result)))
    return changes


def _logged(page: _Page, fact: e.ConversationLogged) -> list[Change]:
    return [page.append(INDEX_FILE, fact.entry + "\n")]


# Each value takes a fact of the very type that is its key, which Any stands for.
_TOLD: Final[dict[type[Fact], Callable[[_Page, Any], list[Change]]]] = {
    e.DelegationStarted: _started,
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


KINDS: Final = frozenset(str(fact.__struct_config__.tag) for fact in _TOLD)
"""The events that the folder is made of, by their names in the log."""


def concerns(fact: Fact) -> bool:
    """Whether a fact may change something in the folder."""
    if type(fact) is e.StateTransition:
        return fact.machine is Machine.DELEGATION
    return type(fact) in _TOLD


def _lists(permissions: StatePermissions) -> dict[str, tuple[str, ...]]:
    names = [name for name in StatePermissions.__struct_fields__ if name != "state"]
    return {name: getattr(permissions, name) for name in names}


def _number(conversation: str) -> str:
    return conversation.removeprefix("conv_")


def _line(entry: Mapping[str, object]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _pretty(entry: Mapping[str, object]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
