"""The texts that hooks give to a program that leads a conversation: to MAIN and to subagents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from muster.delegation.assignments import shortened
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.machines.turns.speech import indented, one_line
from muster.machines.vocabulary import DelegationMode
from muster.routing.agent_files import AgentFile
from muster.routing.router import Decision
from muster.views.conversations import ConversationView

AGENTS_SHOWN: Final = 12


def main(
    conversation: str,
    decision: Decision,
    delegation: Delegation,
    agents: Mapping[str, AgentFile],
    outputs: Path,
    said: Path,
) -> str:
    """The instructions to MAIN for one input. MAIN chooses the agent if the router is unsure."""
    rules = [
        "Begin your answer with the line above.",
        f"Every file that comes of this goes into {outputs}/, unless the request itself names "
        "another place.",
        f"muster keeps the dialogue in {said}; do not write into it.",
        _whose(decision, delegation),
    ]
    if delegation.mode is DelegationMode.INTERACTIVE:
        rules.insert(3, "An agent may start another one; that hands the conversation over to it.")
    return "\n".join(
        [_head(MAIN, conversation), *_duties(), *_listed(rules), *_candidates(decision, agents)]
    )


def _head(state: str, conversation: str) -> str:
    return f"[State: {state}] [Conv: {conversation.removeprefix('conv_')}]"


def _duties() -> Sequence[str]:
    return (
        "You are the state MAIN of a muster session: you plan, read, coordinate and answer.",
        "Writing code or configuration and running programs is denied to MAIN. Hand such work to "
        "an agent with the Agent tool: the whole task in its prompt, files by their whole paths.",
    )


def _whose(decision: Decision, delegation: Delegation) -> str:
    if decision.ambiguous:
        return (
            "Which agent this request is for is not clear. Choose the one whose description fits, "
            "and delegate it there; answer it yourself if none fits and MAIN may. The closest:"
        )
    if decision.agent != MAIN:
        why = one_line(decision.reason)
        return f"This request is for {decision.agent} ({why}): delegate it there."
    if decision.rule == "no-match":
        return (
            f"No agent matches this request by its words ({_agents(delegation)}). If it needs what "
            "MAIN may not do, delegate it to the agent whose description fits, or say which agent "
            f"should be created for it.{' The closest:' if decision.candidates else ''}"
        )
    return f"This request is yours to answer ({one_line(decision.reason)})."


def _candidates(decision: Decision, agents: Mapping[str, AgentFile]) -> Sequence[str]:
    """The first candidates with their descriptions, for a choice that the router leaves to MAIN."""
    if not decision.ambiguous and decision.rule != "no-match":
        return ()
    known = [agents[each.agent] for each in decision.candidates if each.agent in agents]
    return [f"  - {each.name}: {shortened(each.description)}" for each in known]


def queued(view: ConversationView, done: Path) -> str:
    """The instructions for an input in response mode, where there is no MAIN."""
    if view.outcome is not None:
        told = f"It was answered at once: {indented(view.answer)}"
    else:
        agent = view.route.agent if view.route is not None else "an agent"
        told = (
            f"This input waits in the queue for {agent}. A queue runner carries it out; "
            f"the result will be in {done}. Do not carry it out yourself."
        )
    here = "A muster session in response mode is open here: there is no MAIN."
    return f"{_head(QUEUE, view.conversation)}\n{here} {told}"


def subagent(conversation: str, agent: str, outputs: Path, said: Path | None) -> str:
    """The instructions to a subagent; `said` is its dialogue, if it is a state of the session."""
    who = f", as its state {agent}" if said is not None else ""
    rules = [
        f"Every file that you make goes into {outputs}/, temporary ones too.",
        "Write nowhere else, whatever you usually do, unless the task itself names another place.",
        "Name files by their whole paths, and end with what has come of the task.",
    ]
    if said is not None:
        rules.insert(2, f"Add what you think and do to the end of {said}.")
    return "\n".join([f"You work for {conversation} of a muster session{who}.", *_listed(rules)])


def no_agent(name: str, use: str, agents: Sequence[str]) -> str:
    """The denial of a subagent that is no agent of the session, with the agent to use."""
    who = repr(name) if name else "A subagent without a type"
    why = f"{who} is no agent of this session, and only its agents are states."
    if use != MAIN:
        return f"{why} Use {use}."
    names = ", ".join(agents[:AGENTS_SHOWN]) or "none yet"
    return f"{why} Its agents are: {names}. If none fits, suggest one to create."


def session(delegation: Delegation, root: Path) -> str:
    """The instructions to a program that starts or compacts its context in an open session."""
    head = f"[State: {delegation.home_state}]"
    where = f"A muster session is open in {root}, in {delegation.mode} mode"
    lines = [f"{head} {where}, with {_agents(delegation)}."]
    if delegation.mode is not DelegationMode.RESPONSE:
        lines += [*_duties(), "Every input opens a conversation, which your answer closes."]
    return "\n".join(lines)


def _agents(delegation: Delegation) -> str:
    count = len(delegation.agents)
    if not count:
        return "no agents"
    names = ", ".join(delegation.agents[:AGENTS_SHOWN])
    more = f" and {count - AGENTS_SHOWN} more" if count > AGENTS_SHOWN else ""
    return f"the agents {names}{more}"


def _listed(rules: Sequence[str]) -> Sequence[str]:
    return [f"- {rule}" for rule in rules]
