"""The verbs of the command line, and where each is written.

A verb's module is imported when the verb is called, so that help and the quick verbs stay quick.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Verb(NamedTuple):
    """A verb: where it is written, and what it does in one line."""

    module: str
    section: str
    about: str


RUN: Final = "Run a team"
ACT: Final = "Act in a team (while it runs)"
DELEGATE: Final = "Delegate (with or without a server)"
LOOK: Final = "Look at a team (whether or not it runs)"
SET_UP: Final = "Set up and understand"

VERBS: Final[Mapping[str, Verb]] = {
    "up": Verb("run.up", RUN, "Run the team's server here until Ctrl-C."),
    "run": Verb("run.run", RUN, "Run one program as its state file says; no server is needed."),
    "agent": Verb("act.agent", ACT, "Register agents, and say who may take part."),
    "summon": Verb("act.identity", ACT, "Prepare eight places in which agents are born."),
    "wake": Verb("act.identity", ACT, "Wake agents: these, or all who sleep."),
    "sleep": Verb("act.identity", ACT, "Put agents to sleep: these, or all who are awake."),
    "start": Verb("act.run_control", ACT, "Let an agent run, one session after another."),
    "stop": Verb("act.run_control", ACT, "Stop an agent: after its session, or now."),
    "once": Verb("act.run_control", ACT, "Run exactly one session of an agent."),
    "cleanup": Verb("act.run_control", ACT, "Run exactly one cleanup session of an agent."),
    "channel": Verb("act.channel", ACT, "Open channels, look at them, and say who is in them."),
    "turn": Verb("act.turn", ACT, "Complete, pass, pause, resume or override a turn."),
    "send": Verb("act.send", ACT, "Say something to an agent, to a channel, or to the lead."),
    "watch": Verb("act.watch", ACT, "Watch a channel live: the ring, the turn, and what is said."),
    "approvals": Verb("act.approvals", ACT, "Show what agents may do only if you allow it."),
    "approve": Verb("act.approvals", ACT, "Allow what an agent asks for."),
    "deny": Verb("act.approvals", ACT, "Deny what an agent asks for."),
    "token": Verb(
        "act.token", ACT, "Issue, list and revoke the tokens that programs and people show."
    ),
    "agent-state-machine": Verb(
        "delegate.delegation",
        DELEGATE,
        "Open or close a state machine session over a folder of agents.",
    ),
    "ask": Verb(
        "delegate.delegation", DELEGATE, "Hand one request to the agent whose description matches."
    ),
    "conversation-log": Verb(
        "delegate.delegation", DELEGATE, "Add a line of JSON from standard input to messages.jsonl."
    ),
    "import": Verb("act.importing", ACT, "Merge the team that another machine exported."),
    "status": Verb("look.status", LOOK, "Show who is here, what runs, and whose turn it is."),
    "agents": Verb(
        "look.agents", LOOK, "Show who is who: name, looks, soul, and whether it is here."
    ),
    "soul": Verb("look.agents", LOOK, "Print what an agent wrote when it took its name."),
    "transcript": Verb(
        "look.agents", LOOK, "Show what an agent said, and what was said to it alone."
    ),
    "costs": Verb("look.costs", LOOK, "Show what was used up, and by whom."),
    "log": Verb("look.log", LOOK, "Show what happened, and with --follow what happens."),
    "logs": Verb("look.logs", LOOK, "Show what an agent's sessions print."),
    "why": Verb("look.why", LOOK, "Tell how an agent, a channel or an event came to be so."),
    "export": Verb("look.exporting", LOOK, "Write the team into a file, for another machine."),
    "route": Verb("look.route", LOOK, "Decide which agent a request is for, and say why."),
    "agent-list": Verb(
        "look.route", LOOK, "Write agent-list.txt and AGENT_DIRECTORY.md into a folder."
    ),
    "permit": Verb("look.permit", LOOK, "Judge a tool call by the permissions of a state."),
    "init": Verb("setup.init", SET_UP, "Write a starter settings file with every default in it."),
    "doctor": Verb(
        "setup.doctor", SET_UP, "Say what is installed, what is missing, and what to do."
    ),
    "claude-plugin": Verb(
        "setup.claude_plugin", SET_UP, "Give Claude Code muster's commands and hooks."
    ),
    "diagram": Verb(
        "setup.diagram", SET_UP, "Draw a state machine as Mermaid, from the rules in force."
    ),
    "completion": Verb("setup.completion", SET_UP, "Print a completion script for your shell."),
}

SECTIONS: Final = (RUN, ACT, DELEGATE, LOOK, SET_UP)

HIDDEN: Final[Mapping[str, Verb]] = {
    "claude-hook": Verb("setup.claude_hook", "", "Answer a hook of Claude Code."),
}
"""Verbs that programs call: help does not name them."""
