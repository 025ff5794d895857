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
LOOK: Final = "Look at a team (whether or not it runs)"
SET_UP: Final = "Set up and understand"

VERBS: Final[Mapping[str, Verb]] = {
    "up": Verb("serve", RUN, "Run the team's server here until Ctrl-C."),
    "agent": Verb("agent", ACT, "Register agents, and say who may take part."),
    "channel": Verb("channel", ACT, "Open channels, look at them, and say who is in them."),
    "turn": Verb("turn", ACT, "Complete, pass, pause, resume or override a turn."),
    "send": Verb("send", ACT, "Say something to an agent, to a channel, or to the lead."),
    "watch": Verb("watch", ACT, "Watch a channel live: the ring, the turn, and what is said."),
    "token": Verb("token", ACT, "Issue, list and revoke the tokens that programs and people show."),
    "status": Verb("status", LOOK, "Show who is here, what runs, and whose turn it is."),
    "log": Verb("log", LOOK, "Show what happened, and with --follow what happens."),
    "why": Verb("why", LOOK, "Tell how an agent, a channel or an event came to be so."),
    "init": Verb("init", SET_UP, "Write a starter settings file with every default in it."),
    "doctor": Verb("doctor", SET_UP, "Say what is installed, what is missing, and what to do."),
    "diagram": Verb("diagram", SET_UP, "Draw a state machine as Mermaid, from the rules in force."),
    "completion": Verb("completion", SET_UP, "Print a completion script for your shell."),
}

SECTIONS: Final = (RUN, ACT, LOOK, SET_UP)
