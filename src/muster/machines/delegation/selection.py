"""Selection: an agent chooses among the candidates of a router that is unsure.

The selector works on the conversation like any agent, in a session of its seat, and its report is
its choice. A choice counts only if it names one of the candidates; the record has it beside the
router's own opinion.
"""

from muster.machines import events as e
from muster.machines.ids import ConversationId, name_key
from muster.machines.names import named_in
from muster.machines.state import Selection

RULE = "selector"
"""The routing rule of a conversation whose agent was chosen by a selector."""

_SAID_CHARS = 200


def chosen_agent(selection: Selection, report: str) -> str | None:
    """The candidate that a report names in its last line, or else in all of it."""
    names = {name_key(each.agent): each.agent for each in selection.candidates}
    last = report.strip().rpartition("\n")[2]
    return named_in(last, names) or named_in(report, names)


def selected(
    conversation: ConversationId, selection: Selection, agent: str, report: str
) -> e.Routed:
    """The record of a choice, with the opinions of the selector and of the router."""
    best = selection.candidates[0]
    return e.Routed(
        conversation=conversation,
        to=agent,
        confidence=1.0,
        rule=RULE,
        reason=f"{selection.selector} chose it ({_said(report)}); the router: {best.agent}"
        + (f" ({best.reason})" if best.reason else ""),
        router=selection.router,
        margin=selection.margin,
        candidates=selection.candidates,
        guess=best.agent,
    )


def not_selected(selection: Selection, why: str) -> str:
    """The answer to a request for which the selector chose none of the candidates."""
    closest = ", ".join(
        f"{each.agent} ({each.reason})" if each.reason else each.agent
        for each in selection.candidates[:3]
    )
    return (
        f"{selection.selector} chose no agent ({_said(why)}), so nothing was done. The closest: "
        f"{closest}. `--to AGENT` gives it to one of them."
    )


def _said(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SAID_CHARS else line[: _SAID_CHARS - 1] + "…"
