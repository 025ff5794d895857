"""The verbs of the command line, and the module of each.

A verb's module is imported when the verb is called, so that help and the quick verbs stay quick.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Verb(NamedTuple):
    """A verb: its module, section and summary."""

    module: str
    section: str
    about: str


RUN: Final = "Run a team"
ACT: Final = "Act in a team (while it runs)"
DELEGATE: Final = "Delegate (with or without a server)"
LOOK: Final = "Look at a team (whether or not it runs)"
SET_UP: Final = "Set up and understand"

VERBS: Final[Mapping[str, Verb]] = {
    "up": Verb("run.up", RUN, "Run the team's server, here or in the background."),
    "down": Verb("run.down", RUN, "Stop the server that runs in the home."),
    "open": Verb("run.open", RUN, "Open the dashboard, or print a link that signs a browser in."),
    "restart": Verb("act.restart", RUN, "Restart agents, or the server if none is named."),
    "run": Verb("run.run", RUN, "Run one program under a state file, without a server."),
    "agent": Verb("act.agent", ACT, "Add, edit, remove, rename, list, enable and disable agents."),
    "summon": Verb("act.identity", ACT, "Create new agents in the free seats around the lead."),
    "wake": Verb("act.identity", ACT, "Wake the given agents, or all sleeping ones."),
    "sleep": Verb("act.identity", ACT, "Put the given agents to sleep, or all awake ones."),
    "memory": Verb("act.memory", ACT, "Read and change the notes and the soul of an agent."),
    "start": Verb("act.run_control", ACT, "Start agents: each runs session after session."),
    "stop": Verb("act.run_control", ACT, "Stop agents after their current sessions, or now."),
    "once": Verb("act.run_control", ACT, "Run exactly one session of each agent, then pause it."),
    "cleanup": Verb("act.run_control", ACT, "Run exactly one cleanup session of each agent."),
    "interrupt": Verb("act.run_control", ACT, "Stop the work of agents; their sessions live on."),
    "model": Verb("act.agent_settings", ACT, "Show or choose the model of an agent's program."),
    "mode": Verb("act.agent_settings", ACT, "Show or choose an agent's permission mode."),
    "retry": Verb("act.send", ACT, "Hand an agent the messages again that it left unanswered."),
    "channel": Verb(
        "act.channel",
        ACT,
        "Create, show, change and archive channels, and their members.",
    ),
    "turn": Verb("act.turn", ACT, "End, pause, resume or override a turn, or say who is next."),
    "next": Verb("act.next", ACT, "Print the next thing for AGENT to do."),
    "send": Verb("act.send", ACT, "Send a message to an agent, a channel or the lead."),
    "watch": Verb("act.watch", ACT, "Watch a channel live: ring, turn and messages."),
    "approvals": Verb("act.approvals", ACT, "List requests that wait for your approval."),
    "approve": Verb("act.approvals", ACT, "Approve requests."),
    "deny": Verb("act.approvals", ACT, "Deny requests."),
    "changes": Verb("look.changes", ACT, "Show the files that an agent or a task has changed."),
    "workspace": Verb("look.changes", ACT, "List, merge, rebase and discard worktrees of agents."),
    "token": Verb("act.token", ACT, "Issue, list, rotate and revoke tokens."),
    "user": Verb("run.user", ACT, "Add, list and remove people, and change their roles."),
    "browsers": Verb("run.browsers", RUN, "List the browsers that are signed in; sign one out."),
    "agent-state-machine": Verb(
        "delegate.delegation",
        DELEGATE,
        "Open or close a state machine session over a folder of agents.",
    ),
    "ask": Verb(
        "delegate.delegation",
        DELEGATE,
        "Delegate a request to the agent whose description matches.",
    ),
    "cancel": Verb("delegate.cancel", DELEGATE, "Cancel requests, and stop the work on them."),
    "choices": Verb(
        "delegate.choices", DELEGATE, "List, add and forget choices of agents for requests."
    ),
    "conversation-log": Verb(
        "delegate.conversation_log",
        DELEGATE,
        "Add a line of JSON from standard input to messages.jsonl.",
    ),
    "adopt": Verb("act.identity", ACT, "Give a Claude Code run by hand its seat for good."),
    "import": Verb("act.importing", ACT, "Merge the team that another machine exported."),
    "status": Verb("look.status", LOOK, "Show agents, sessions and turns at a glance."),
    "needs": Verb("look.needs", LOOK, "List what needs you, and how to answer it."),
    "agents": Verb("look.agents", LOOK, "List agents: name, colour, soul, presence."),
    "soul": Verb("look.agents", LOOK, "Print an agent's soul: what it wrote at its registration."),
    "transcript": Verb("look.agents", LOOK, "Show the messages of an agent, sent and received."),
    "sessions": Verb(
        "look.sessions", ACT, "List the conversations of an agent with Claude Code; resume one."
    ),
    "since": Verb("look.since", LOOK, "Tell what happened since you last looked."),
    "nodes": Verb("look.nodes", LOOK, "List the machines of a team: here or away, sessions."),
    "costs": Verb("look.costs", LOOK, "Show tokens and cost by agent, channel, day and model."),
    "log": Verb("look.log", LOOK, "Show events; --follow prints new ones."),
    "search": Verb("look.search", LOOK, "Search all messages for words, newest first."),
    "logs": Verb("look.logs", LOOK, "Show the output of an agent's sessions."),
    "why": Verb("look.why", LOOK, "Explain the state of an agent, channel, conversation or event."),
    "export": Verb("look.exporting", LOOK, "Export the team to a file, for another machine."),
    "backup": Verb("look.backup", LOOK, "Back the team up into one verified file."),
    "team": Verb("look.team", LOOK, "Export the team as a template for other teams."),
    "route": Verb("look.route", LOOK, "Decide which agent a request is for, and explain why."),
    "agent-list": Verb(
        "look.route", LOOK, "Write agent-list.txt and AGENT_DIRECTORY.md into a folder."
    ),
    "permit": Verb("look.permit", LOOK, "Check a tool call against the permissions of a state."),
    "confine": Verb("run.confine", RUN, "Run a command that may write only what a policy allows."),
    "init": Verb("setup.init", SET_UP, "Write a starter settings file, or a team from a template."),
    "restore": Verb("setup.restore", SET_UP, "Restore the team of a backup, as a new home."),
    "archive": Verb("setup.archive", SET_UP, "Move old events into compressed files."),
    "join": Verb("setup.join", SET_UP, "Make a home for a team that is in the database URL."),
    "move-store": Verb(
        "setup.move_store", SET_UP, "Move the log into the PostgreSQL database URL, or back."
    ),
    "notify": Verb("setup.notify", SET_UP, "Send a test notification to targets of muster.toml."),
    "doctor": Verb("setup.doctor", SET_UP, "Check installation, home, settings, agents and log."),
    "claude-plugin": Verb("setup.claude_plugin", SET_UP, "Install muster's plugin in Claude Code."),
    "mcp": Verb(
        "setup.mcp", SET_UP, "Serve the team's tools over MCP, on standard input and output."
    ),
    "service": Verb("setup.service", SET_UP, "Run the team as a systemd user service."),
    "diagram": Verb("setup.diagram", SET_UP, "Draw a state machine as a Mermaid diagram."),
    "completion": Verb("setup.completion", SET_UP, "Print a completion script for your shell."),
}

SECTIONS: Final = (RUN, ACT, DELEGATE, LOOK, SET_UP)

HIDDEN: Final[Mapping[str, Verb]] = {
    "claude-hook": Verb("setup.claude_hook", "", "Answer a hook of Claude Code."),
}
"""Verbs for programs, hidden from help."""
