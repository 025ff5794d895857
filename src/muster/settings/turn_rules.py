"""Rules of the `[turns]` table, whose record belongs to the machines."""

from collections.abc import Mapping
from typing import Final

from muster.limits import TURN_SECONDS_MAX, TURNS_MAX, USAGE_SUM_MAX
from muster.settings.rules import Rule


def _seconds(about: str) -> Rule:
    return Rule(about, 0.1, TURN_SECONDS_MAX)


def _turns(about: str) -> Rule:
    return Rule(f"{about}; 0 means no limit.", 0, TURNS_MAX)


TURN_RULES: Final[Mapping[str, Rule]] = {
    "default_timeout_seconds": _seconds(
        "Turn timeout: a turn without any sign of work ends after this long."
    ),
    "human_interrupt_mode": Rule("Effect of a person's message on a turn in progress."),
    "announce_timeouts": Rule("Whether the channel is told when a turn times out."),
    "announce_disconnects": Rule("Whether the channel is told when a member disconnects."),
    "auto_detect_turn_end": Rule("Whether silence after a post ends the turn."),
    "auto_detect_silence_seconds": _seconds("Length of the silence that ends a turn."),
    "wait_timeout_seconds": _seconds(
        "Wait timeout: how long a turn may be WAITING before it is forfeited."
    ),
    "max_turn_seconds": _seconds("Hard cap on the length of a turn, whatever the signs of work."),
    "interrupt_hold_seconds": _seconds(
        "An interrupted turn resumes after this much silence of the person."
    ),
    "rest_after_idle_rounds": Rule(
        "Rounds without a post after which a channel rests.", 1, 1_000_000
    ),
    "speaker_order": Rule(
        "Who speaks next: the ring's order, members that the last speaker mentioned first, or a "
        "selector's choice."
    ),
    "selector": Rule('Name of the member that chooses the next speaker, for "selector".'),
    "stop_phrase": Rule("A message of an agent that contains this text ends the conversation."),
    "turns_per_message": _turns("Turn limit after each message of a person"),
    "rounds_per_message": _turns("Limit of whole rounds after each message of a person"),
    "cost_usd_per_message": Rule(
        "Cost limit after each message of a person, in dollars; 0 means no limit.", 0, 1_000_000
    ),
    "tokens_per_message": Rule(
        "Token limit after each message of a person; 0 means no limit.", 0, USAGE_SUM_MAX
    ),
    "alike_in_a_row": Rule(
        "Messages of agents in a row that say the same, after which the conversation rests as a "
        "runaway; 0 means no limit.",
        0,
        TURNS_MAX,
    ),
    "cost_usd_per_minute": Rule(
        "Burn rate in dollars a minute, over the last ten minutes, at which the conversation rests "
        "as a runaway; 0 means no limit.",
        0,
        1_000_000,
    ),
    "cost_usd_per_day": Rule(
        "Cost limit of a channel on a day (UTC), in dollars; 0 means no limit.", 0, 1_000_000
    ),
    "max_turns": _turns("Turn limit of a channel"),
    "max_rounds": _turns("Limit of whole rounds in a channel"),
    "max_cost_usd": Rule(
        "Cost limit of a channel, all turns together, in dollars; 0 means no limit.", 0, 1_000_000
    ),
    "max_tokens": Rule(
        "Token limit of a channel, all turns together; 0 means no limit.", 0, USAGE_SUM_MAX
    ),
    "join_rule": Rule("Who may join a channel: every agent, or only agents that a person adds."),
    "read_rule": Rule("Who may read a channel, beside operators: everybody, or its members."),
}
