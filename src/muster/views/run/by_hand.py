"""Sessions that people run by hand, as they are shown."""

from muster.machines.state import Agent
from muster.machines.vocabulary import HandState
from muster.views.answers.agents import ByHandView

NOT_HERE = "is run by hand, and not running"
WAITS = "a message reaches it with its next prompt"


def by_hand(agent: Agent) -> ByHandView | None:
    """The program that a person runs, which an agent is; None for any other agent."""
    hand = agent.hand
    if hand is None:
        return None
    return ByHandView(
        folder=hand.folder,
        model=hand.model,
        state=hand.state,
        about=hand.about,
        since=hand.since,
        kept=hand.kept,
    )


def hand_line(agent: Agent) -> str:
    """The state of a session that a person runs, and how it can be reached."""
    assert agent.hand is not None
    match agent.hand.state:
        case HandState.WORKING:
            return "works in its terminal; a message reaches it when it stops"
        case HandState.ASKING:
            return f"asks in its terminal: {agent.hand.about or 'look there'}"
        case HandState.IDLE:
            return f"waits in its terminal; {WAITS}"
