"""A project with an open session, and a Claude Code that is played to the desk hook by hook."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.claude_plugin.hooks.answers import answer_safely
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall
from muster.claude_plugin.hooks.desk import HookDesk
from muster.claude_plugin.hooks.places import SESSIONS_FILE
from muster.delegation import session_folder
from muster.delegation.agent_folders import read_agents
from muster.delegation.folder.workspace import files_of
from muster.delegation.visiting import visited
from muster.machines.events import Event, Fact
from muster.machines.ids import person
from muster.machines.vocabulary import DelegationMode
from muster.permissions.policy import DEFAULT
from muster.settings.model import Settings, TeamSettings
from muster.views.conversations import ConversationView
from tests.delegation.stage import agent_file

RECORDED = Path(__file__).parent / "recorded"

AGENTS = {
    "builder": "Use to write Python scripts, modules and command line programs.",
    "nester": "Use for releases that need several specialists at once.",
    "sql-tuner": "Use for slow SQL queries, indexes and query plans.",
}

PYTHON = "Write a hello world Python script"
HUMAN = "Marcus"

Json = dict[str, Any]  # any JSON value


class Project:
    """A folder in which a state machine session was started."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "work"
        self.root = self.folder / ".claude" / "agent-state-machine" / "one"
        self.home = self.folder / ".muster"
        for name, description in AGENTS.items():
            agent_file(self.folder / ".claude" / "agents", name, description)
        settings = Settings(team=TeamSettings(human=HUMAN))
        self.log_provider, self.conversations = visited(self.root, settings)
        self.desk = HookDesk.of_project(self.home, settings)

    async def start(self, mode: DelegationMode = DelegationMode.ORCHESTRATOR) -> None:
        session_folder.prepare(self.root)
        folders = [self.folder / ".claude" / "agents"]
        await session_folder.start(
            self.log_provider,
            root=self.root,
            mode=mode,
            agents=read_agents(folders).agents,
            folders=folders,
            policy=DEFAULT,
            actor=person(HUMAN),
        )
        self.known(self.root)

    def known(self, *roots: Path) -> None:
        """Sessions that were started here and have not ended."""
        file = self.folder / SESSIONS_FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{root}\n" for root in roots))

    # ── seeing ────────────────────────────────────────────────────────────────────────────────────

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def lines(self, path: str) -> list[Json]:
        return [json.loads(line) for line in self.read(path).splitlines()]

    def states(self) -> list[tuple[str, str]]:
        """Kinds and states in `state.jsonl`."""
        return [(line["type"], line["state"]) for line in self.lines("state.jsonl")]

    async def events(self) -> Sequence[Event]:
        async with self.log_provider.access() as session_log:
            return await session_log.history(str(self.root))

    async def facts(self, *kinds: type[Fact]) -> list[Any]:
        """The facts of these kinds; Any is one of them."""
        return [each.fact for each in await self.events() if isinstance(each.fact, kinds)]

    async def views(self) -> list[ConversationView]:
        return list((await self.conversations.views()).values())

    async def is_up_to_date(self) -> bool:
        """Whether the files in the folder agree with the log, byte for byte."""
        files = {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
            and path.name != ".workspace.json"
            and not {".muster", "outputs"} & set(path.relative_to(self.root).parts)
        }
        return files == files_of(await self.events())

    # ── playing ───────────────────────────────────────────────────────────────────────────────────

    async def play(self, story: str) -> list[tuple[str, HookAnswer]]:
        """A recorded session, from its first hook to its last; with the files that it wrote."""
        answers: list[tuple[str, HookAnswer]] = []
        claude = Claude(self)
        for line in (RECORDED / f"{story}.jsonl").read_text().splitlines():
            text = line.replace("{WORK}", str(self.folder)).replace("{BOX}", str(self.base))
            hook = json.loads(text)
            if hook["event"] == "PostToolUse" and "file_path" in hook["data"]["tool_input"]:
                written(hook["data"]["tool_input"])
            answers.append((hook["event"], await claude.raw(hook["event"], hook["data"])))
        return answers


def written(given: Json) -> str:
    """Do what the tool Write does; whether the file is new or another."""
    path = Path(given["file_path"])
    kind = "update" if path.exists() else "create"
    path.write_text(given["content"])
    return kind


class Claude:
    """One session of the program, as its hooks tell of it."""

    def __init__(
        self,
        project: Project,
        session: str = "5e551011-0000-4000-8000-000000000001",
        *,
        pid: int | None = None,
        token: str = "",
        desk: HookDesk | None = None,
    ) -> None:
        self.project = project
        self.session = session
        self.pid = os.getpid() if pid is None else pid
        self.token = token
        self.desk = desk or project.desk

    async def raw(self, event: str, data: object) -> HookAnswer:
        call = HookCall(
            event=event,
            project=self.project.folder,
            token=self.token,
            pid=self.pid,
            data=data if isinstance(data, bytes) else json.dumps(data).encode(),
        )
        return await answer_safely(self.desk, call)

    async def hook(self, event: str, **fields: object) -> Json:
        """Call a hook; return its answer, or nothing."""
        answer = await self.answer(event, **fields)
        assert answer.code == 0, answer.text
        return json.loads(answer.text) if answer.text else {}

    async def answer(self, event: str, **fields: object) -> HookAnswer:
        common = {
            "session_id": self.session,
            "transcript_path": str(self.project.base / "transcript.jsonl"),
            "cwd": str(self.project.folder),
            "hook_event_name": event,
        }
        return await self.raw(event, {**common, **fields})

    async def told(self, event: str, **fields: object) -> str:
        """The context that a hook gives to the model."""
        answer = await self.hook(event, **fields)
        return answer.get("hookSpecificOutput", {}).get("additionalContext", "")

    async def prompt(self, text: str) -> str:
        return await self.told("UserPromptSubmit", prompt=text)

    async def tool(self, name: str, given: object, by: str = "", agent: str = "builder") -> str:
        """Ask for a tool call: the reason of a denial, or an empty text."""
        whose = {"agent_id": by, "agent_type": agent} if by else {}
        answer = await self.hook("PreToolUse", tool_name=name, tool_input=given, **whose)
        said = answer.get("hookSpecificOutput", {})
        if said.get("permissionDecision") == "allow":  # a line of MAIN, which runs confined
            assert said["updatedInput"].keys() == (given if isinstance(given, dict) else {}).keys()
            return ""
        return said.get("permissionDecisionReason", "")

    async def task(self, to: str, prompt: str, by: str = "", agent: str = "") -> None:
        given = {"description": "a task", "prompt": prompt, "subagent_type": to}
        assert await self.tool("Agent", given, by, agent) == ""

    async def start(self, agent: str, subagent: str) -> str:
        return await self.told("SubagentStart", agent_id=subagent, agent_type=agent)

    async def done(self, agent: str, subagent: str, report: str) -> None:
        said = {"agent_id": subagent, "agent_type": agent, "last_assistant_message": report}
        told = await self.hook("SubagentStop", stop_hook_active=False, **said)
        assert told.keys() <= {"systemMessage"}

    async def wrote(self, path: Path, by: str = "", text: str = "x") -> None:
        """Write a file, as the tool does, and tell of it."""
        whose = {"agent_id": by, "agent_type": "builder"} if by else {}
        given = {"file_path": str(path), "content": text}
        kind = written(given)
        response = {"type": kind, "filePath": str(path), "content": text}
        used = {"tool_name": "Write", "tool_input": given, "tool_response": response}
        assert await self.hook("PostToolUse", **used, **whose) == {}

    async def stop(self, answer: str = "Done.", working: Sequence[str] = ()) -> Json:
        tasks = [
            {"id": each, "type": "subagent", "status": "running", "description": "d"}
            for each in working
        ]
        said = {"last_assistant_message": answer, "background_tasks": tasks}
        return await self.hook("Stop", stop_hook_active=False, **said)
