"""Spending: usage is charged where it belongs, and a limit pauses an agent before its next turn."""

import pytest

from muster.limits import BURN_PIECES_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.state import Phase, TurnState
from muster.machines.vocabulary import Allowance, Budget, RunMode, Taken, TurnConfig, Urgency, Usage
from tests.machines.scene import REVIEWS, Scene, facts

DOLLAR = Usage(
    cost_usd=1.0, input_tokens=10, output_tokens=5, cache_read_tokens=80, cache_write_tokens=5
)


def pair(budget: Budget | None = None, config: TurnConfig | None = None) -> Scene:
    """Two agents that muster runs, in a channel; Lyra has the turn and the budget."""
    scene = Scene()
    scene.running("Lyra", "Kael")
    lyra = scene.agent("Lyra")
    scene.do(
        c.ConfigureAgent(
            seat=lyra.seat,
            authority=lyra.authority,
            long_lived=True,
            budget=budget or Budget(),
            unasked=True,
        )
    )
    scene.channel_of("Lyra", "Kael", config=config)
    return scene


def works(scene: Scene, name: str, usage: Usage = DOLLAR, *, turn: bool = True) -> list[e.Event]:
    """Report a result of an agent, for its turn if it has one."""
    events = scene.complete(name) if turn else []
    channel = REVIEWS if turn else None
    result = c.ReportResult(session=scene.session(name).id, usage=usage, channel=channel)
    return [*events, *scene.do(result)]


def test_a_result_is_charged_to_session_agent_and_channel() -> None:
    scene = pair()
    works(scene, "Lyra")
    works(scene, "Kael")
    works(scene, "Lyra", turn=False)
    assert scene.session("Lyra").used == scene.agent("Lyra").used == DOLLAR + DOLLAR
    assert scene.agent("Lyra").run.used == DOLLAR + DOLLAR
    assert scene.agent("Kael").used == DOLLAR
    assert scene.channel().used == DOLLAR + DOLLAR
    assert (DOLLAR + DOLLAR).tokens == 200


def test_a_result_for_an_unknown_channel_is_charged_to_the_agent_only() -> None:
    scene = pair()
    nowhere = c.ReportResult(
        session=scene.session("Lyra").id, usage=DOLLAR, channel=e.ChannelId("nowhere")
    )
    scene.do(nowhere)
    assert scene.agent("Lyra").used == DOLLAR


@pytest.mark.parametrize(
    ("budget", "note"),
    [
        (Budget(cost_usd=2), "$2.0000 used, and $2 are allowed"),
        (Budget(tokens=150), "200 tokens used, and 150 are allowed"),
        (Budget(session_cost_usd=1.5), "$2.0000 used in one session, and $1.5 are allowed"),
        (Budget(session_tokens=200), "200 tokens used in one session, and 200 are allowed"),
    ],
)
def test_an_agent_that_reaches_a_limit_is_paused_before_its_next_turn(
    budget: Budget, note: str
) -> None:
    scene = pair(budget)
    works(scene, "Lyra")
    assert scene.agent("Lyra").run.desired is RunMode.CONTINUOUS
    scene.complete("Kael")
    events = works(scene, "Lyra")
    desired = facts(events, e.DesiredSet)[0]
    assert (desired.desired, desired.set_by, desired.note) == (RunMode.PAUSE, "muster", note)
    assert facts(events, e.StopRequested)[0].urgency is Urgency.GRACEFUL
    scene.complete("Kael")
    assert scene.state("Kael") is TurnState.IDLE  # as if it were alone: Lyra is passed over


def test_starting_an_agent_again_resets_its_usage() -> None:
    scene = pair(Budget(cost_usd=1))
    works(scene, "Lyra")
    scene.ends("Lyra")
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.up("Lyra")
    assert scene.agent("Lyra").run.used == Usage()
    assert scene.agent("Lyra").used == DOLLAR  # the total is kept


def test_every_session_has_its_own_limit() -> None:
    scene = pair(Budget(session_cost_usd=1.5))
    works(scene, "Lyra")
    scene.ends("Lyra")
    scene.later(2)
    scene.up("Lyra")
    works(scene, "Lyra", turn=False)
    assert scene.agent("Lyra").run.desired is RunMode.CONTINUOUS


def test_a_paused_agent_at_a_limit_is_only_stopped() -> None:
    scene = pair(Budget(cost_usd=1))
    scene.want("Lyra", RunMode.PAUSE)
    events = works(scene, "Lyra")
    assert facts(events, e.DesiredSet) == []
    assert scene.session("Lyra").phase is Phase.STOPPING


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (TurnConfig(max_cost_usd=1), "$1.0000 used in all, and $1 are allowed"),
        (TurnConfig(max_tokens=99), "100 tokens used in all, and 99 are allowed"),
    ],
)
def test_a_channel_at_its_limit_rests_and_its_members_are_not_paused(
    config: TurnConfig, note: str
) -> None:
    scene = pair(config=config)
    works(scene, "Lyra")
    assert scene.holder() == "Kael"  # was granted before the cost was known
    events = scene.complete("Kael")
    assert [rested.reason for rested in facts(events, e.ChannelRested)] == [note]
    assert scene.holder() is None
    assert facts(events, e.DesiredSet) == []


def test_after_raising_the_limit_of_a_channel_its_members_go_on() -> None:
    scene = pair(config=TurnConfig(max_cost_usd=1))
    works(scene, "Lyra")
    scene.complete("Kael")
    assert scene.channel().resting
    scene.do(c.ConfigureChannel(channel=REVIEWS, config=TurnConfig(max_cost_usd=5)))
    assert scene.holder() == "Lyra"


def test_a_result_is_charged_to_its_conversation() -> None:
    scene = pair()
    seat = scene.seat("Lyra")
    scene.do(c.StartDelegation(mode=e.DelegationMode.ORCHESTRATOR, path="p", agents=("ada",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus", keeper="k", seat=seat))
    assert scene.agent("Lyra").conversation == "conv_001"
    result = facts(works(scene, "Lyra", turn=False), e.SessionResult)[0]
    assert result.conversation == "conv_001"
    scene.do(c.CloseConversation(conversation=e.ConversationId("conv_001"), summary="done"))
    works(scene, "Lyra", turn=False)
    assert scene.agent("Lyra").conversation is None
    result = facts(works(scene, "Lyra", turn=False), e.SessionResult)[0]
    assert result.conversation is None


def delegating(scene: Scene, allowance: Allowance) -> None:
    mode = e.DelegationMode.INTERACTIVE
    scene.do(c.StartDelegation(mode=mode, path="p", agents=("ada", "bob"), allowance=allowance))


def test_the_lead_of_a_conversation_at_its_limit_is_paused_with_a_note() -> None:
    scene = pair()
    delegating(scene, Allowance(max_cost_usd=2))
    seat = scene.seat("Lyra")
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus", keeper="k", seat=seat))
    works(scene, "Lyra", turn=False)  # helpers of it work on, so it is still open
    assert scene.agent("Lyra").conversation == "conv_001"
    scene.do(c.CloseConversation(conversation=e.ConversationId("conv_001"), summary="done"))
    desired = facts(works(scene, "Lyra", turn=False), e.DesiredSet)[0]
    assert desired.note == "$2.0000 used in conv_001, and $2 are allowed"
    scene.ends("Lyra")
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.up("Lyra")
    assert facts(works(scene, "Lyra", turn=False), e.DesiredSet) == []  # that conversation is over


def test_a_conversation_at_its_limit_is_not_delegated() -> None:
    scene = Scene()
    delegating(scene, Allowance(max_tokens=100))
    one = e.ConversationId("conv_001")
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
    scene.do(c.Delegate(conversation=one, to="ada", trigger="fits"))
    session = scene.team.delegation.conversations[one].session
    assert session is not None
    scene.do(c.ReportResult(session=session, usage=DOLLAR))
    assert scene.agent("ada").used == DOLLAR  # a task is charged to its agent
    refused = scene.refuse(c.HandOff(conversation=one, epoch=1, to="bob", reason="x"), "used_up")
    assert "100 tokens used in conv_001, and 100 are allowed." in str(refused)


def test_a_turn_is_taken_when_the_holder_has_accepted_its_prompt() -> None:
    scene = pair()

    def taken() -> bool:
        turn = scene.channel().turn
        return turn is not None and turn.taken

    def takes(name: str, *channels: e.ChannelId) -> None:
        session = scene.session(name).id
        told = c.ReportTaken(session=session, how=Taken.QUEUED, text="go", channels=channels)
        scene.do(told)

    takes("Lyra")
    assert not taken()
    takes("Kael", REVIEWS)  # it does not have the turn
    assert not taken()
    takes("Lyra", e.ChannelId("nowhere"), REVIEWS)
    assert taken()
    scene.complete("Lyra")
    assert not taken()


@pytest.mark.parametrize(
    "usage",
    [
        Usage(cost_usd=-5.0),
        Usage(cost_usd=1e308),
        Usage(cost_usd=float("nan")),
        Usage(cost_usd=float("inf")),
        Usage(input_tokens=10**23),
        Usage(output_tokens=-1),
        Usage(cache_read_tokens=2**62),
        Usage(cache_write_tokens=-(10**23)),
    ],
)
def test_an_invalid_usage_is_refused(usage: Usage) -> None:
    scene = pair(budget=Budget(cost_usd=10.0))
    works(scene, "Lyra")
    result = c.ReportResult(session=scene.session("Lyra").id, usage=usage)
    assert "must be 0 to" in str(scene.refuse(result, "invalid"))


def test_sums_of_usage_saturate_and_never_shrink() -> None:
    most = Usage(cost_usd=1e308, input_tokens=10**23)
    total = DOLLAR + most + most + Usage(cost_usd=-5.0, input_tokens=-7)
    assert (total.cost_usd, total.input_tokens) == (2.0**53, 2**53)
    assert DOLLAR + Usage(cost_usd=-5.0, input_tokens=-(10**23)) == DOLLAR


# ── in the middle of work ─────────────────────────────────────────────────────────────────────────


def spends(scene: Scene, usage: Usage) -> list[e.Event]:
    return scene.do(c.ReportSpending(session=scene.session("Lyra").id, usage=usage))


def test_work_in_progress_counts_for_limits_at_once_and_is_interrupted_there() -> None:
    scene = Scene()
    scene.running("Lyra", interruptible=True)
    lyra = scene.agent("Lyra")
    scene.do(
        c.ConfigureAgent(
            seat=lyra.seat, authority=lyra.authority, long_lived=True, budget=Budget(cost_usd=1)
        )
    )
    half = Usage(cost_usd=0.5, input_tokens=5)
    assert [type(each.fact) for each in spends(scene, half)] == [e.WorkSpending]
    assert scene.session("Lyra").spending == half
    assert not spends(scene, half)
    events = spends(scene, DOLLAR)
    assert facts(events, e.DesiredSet)[0].note == "$1.0000 used, and $1 are allowed"
    assert facts(events, e.WorkInterrupted)[0].channel is None
    assert not facts(spends(scene, DOLLAR + half), e.DesiredSet)
    works(scene, "Lyra", DOLLAR, turn=False)
    assert scene.agent("Lyra").used == DOLLAR
    assert scene.session("Lyra").spending == Usage()


def test_a_session_that_cannot_be_interrupted_is_stopped_now() -> None:
    scene = pair(Budget(cost_usd=1))
    events = spends(scene, DOLLAR)
    assert not facts(events, e.WorkInterrupted)
    assert facts(events, e.StopRequested)[0].urgency is Urgency.NOW


def test_work_counts_while_it_goes_on_and_once() -> None:
    scene = pair()
    spends(scene, DOLLAR)
    spends(scene, Usage(cost_usd=0.5))  # a report that falls back takes nothing away
    spends(scene, DOLLAR + DOLLAR)
    works(scene, "Lyra", DOLLAR + DOLLAR + DOLLAR, turn=False)
    lyra = scene.agent("Lyra")
    assert lyra.used == lyra.run.used == scene.session("Lyra").used == DOLLAR + DOLLAR + DOLLAR
    assert (lyra.burn.today_usd, scene.team.burn.today_usd) == (3.0, 3.0)


def test_work_without_a_result_is_paid_for_too() -> None:
    scene = pair()
    spends(scene, DOLLAR)
    assert scene.agent("Lyra").used == DOLLAR
    scene.ends("Lyra", e.Outcome.CRASHED)
    assert scene.agent("Lyra").used == DOLLAR


@pytest.mark.parametrize(
    ("budget", "note", "trigger"),
    [
        (
            Budget(cost_usd_per_day=3),
            "$3.00 spent today, and $3 a day are allowed",
            "budget",
        ),
        (
            Budget(team_cost_usd_per_day=3),
            "$3.00 spent by the team today, and $3 a day are allowed",
            "budget",
        ),
        (Budget(cost_usd_per_minute=2), "$2.00 a minute, and $2 are allowed", "runaway"),
    ],
)
def test_limits_of_a_day_and_of_a_rate_hold_in_the_middle_of_work(
    budget: Budget, note: str, trigger: str
) -> None:
    scene = pair(budget)
    for dollars in (1.0, 2.0):
        assert not facts(spends(scene, Usage(cost_usd=dollars)), e.DesiredSet)
        scene.later(1)
    [desired] = facts(spends(scene, Usage(cost_usd=3.0)), e.DesiredSet)
    assert (desired.note, desired.trigger) == (note, trigger)


def test_an_invalid_usage_of_work_in_progress_is_refused() -> None:
    scene = pair()
    spent = c.ReportSpending(session=scene.session("Lyra").id, usage=Usage(cost_usd=-1))
    assert "costUsd" in str(scene.refuse(spent, "invalid"))


def test_a_rate_of_many_small_reports_is_that_of_few_large_ones() -> None:
    scene = pair()
    for number in range(1, 2 * BURN_PIECES_MAX):
        spends(scene, Usage(cost_usd=number / 100))
        scene.later(1)
    recent = scene.agent("Lyra").burn.recent
    assert len(recent) == BURN_PIECES_MAX
    assert round(sum(each.cost_usd for each in recent), 8) == (2 * BURN_PIECES_MAX - 1) / 100
