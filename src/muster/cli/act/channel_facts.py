"""A channel in sentences: why it rests or who has the turn and why, who is next, its limits."""

from collections.abc import Iterator

from muster.machines.vocabulary import JoinRule, ReadRule, SpeakerOrder
from muster.views.answers.agents import UsageView
from muster.views.answers.channels import ChannelState, Rules


def channel_facts(state: ChannelState) -> Iterator[str]:
    """One line for each thing that a person asks about a channel."""
    yield from _now(state)
    yield from _next(state)
    yield f"Order: {_order(state)}"
    yield f"Limits per message of a person: {_limits_per_message(state)}"
    yield f"Limits in all: {_limits_in_all(state)}"
    if state.config.stop_phrase:
        yield f"Ends when an agent says {state.config.stop_phrase!r}"
    yield from _access(state)


def _now(state: ChannelState) -> Iterator[str]:
    if state.archived:
        yield f"Archived: `muster channel restore {state.channel}` brings it back"
    elif state.rest_reason:
        yield f"Resting: {state.rest_reason}"
    elif state.holder:
        because = f": {state.granted_because}" if state.granted_because else ""
        choosing = " and is asked who speaks next" if state.choosing else ""
        yield f"{state.holder} has the turn{choosing}{because}"


def _next(state: ChannelState) -> Iterator[str]:
    for number, each in enumerate(state.claims):
        yield f"{'Then' if number else 'Next'}: {each.agent}, {each.reason}"
    if not state.claims and state.next:
        yield f"Next: {state.next}"


def _order(state: ChannelState) -> str:
    config = state.config
    if config.speaker_order is not SpeakerOrder.SELECTOR:
        return str(config.speaker_order)
    there = "" if config.selector in state.ring else ", who is no member: the ring decides"
    return f"selector, by {config.selector}{there}"


def _limits_per_message(state: ChannelState) -> str:
    config = state.config
    limits = (
        _amount(config.turns_per_message, "turns"),
        _amount(config.rounds_per_message, "rounds"),
        f"${config.cost_usd_per_message:g}" if config.cost_usd_per_message else "",
        _amount(config.tokens_per_message, "tokens"),
    )
    return _against(limits, state.turns_since_message, state.used_since_message)


def _limits_in_all(state: ChannelState) -> str:
    config: Rules = state.config
    limits = (
        _amount(config.max_turns, "turns"),
        _amount(config.max_rounds, "rounds"),
        f"${config.max_cost_usd:g}" if config.max_cost_usd else "",
        _amount(config.max_tokens, "tokens"),
    )
    return _against(limits, state.turns, state.used)


def _amount(number: int, unit: str) -> str:
    return f"{number} {unit}" if number else ""


def _against(limits: tuple[str, ...], turns: int, used: UsageView | None) -> str:
    """Limits, and what they are compared with."""
    spent = f", ${used.cost_usd:.4f}, {used.tokens} tokens" if used else ""
    return f"{', '.join(filter(None, limits)) or 'none'} (so far {turns} turns{spent})"


def _access(state: ChannelState) -> Iterator[str]:
    if state.config.join_rule is JoinRule.INVITED:
        yield "Only people add members"
    if state.config.read_rule is ReadRule.MEMBERS:
        yield "Only members and operators read it"
    for name in state.barred:
        add = f"muster channel add {state.channel} {name}"
        yield f"Barred: {name}, removed by a person; `{add}` adds it again"
