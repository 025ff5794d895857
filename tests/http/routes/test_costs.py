"""Costs over HTTP: usage of agents, sessions, channels and conversations, and limits."""

import asyncio
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from muster.errors import StillReading
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, ConversationId, SeatId, SessionId
from muster.machines.vocabulary import DelegationMode, HandState, Outcome, Usage
from muster.store.base import Stored
from muster.store.codec import stored
from muster.store.memory import MemoryStore
from muster.testing.clock import EPOCH
from muster.views import conversation_costs
from muster.views.conversation_costs import Costs, Tally
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import Json

NOTHING = {
    "costUsd": 0,
    "tokens": 0,
    "inputTokens": 0,
    "outputTokens": 0,
    "cacheReadTokens": 0,
    "cacheWriteTokens": 0,
}


@pytest.fixture
def muster(tmp_path: Path) -> Generator[Inside]:
    with inside(tmp_path, "Ada", "Bo") as team:
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


def spent(cost_usd: float, tokens: int) -> Json:
    return NOTHING | {
        "costUsd": cost_usd,
        "tokens": tokens,
        "inputTokens": tokens - 1,
        "outputTokens": 1,
    }


# ── who has used up what ──────────────────────────────────────────────────────────────────────────


def test_where_nothing_was_used_nothing_is_told_of(muster: Inside, operator: Asker) -> None:
    muster.opens("design", "Ada")
    found = operator.get("/api/costs")
    assert found["team"] == NOTHING
    for whose in ("agents", "sessions", "channels", "conversations", "days"):
        assert found[whose] == []
    assert operator.get("/api/agents/Ada")["used"] is None
    assert operator.get("/api/agents/Ada/run")["used"] is None
    assert operator.get("/api/channels/design")["used"] is None


def test_a_result_counts_for_its_agent_its_session_and_its_channel(
    muster: Inside, operator: Asker
) -> None:
    muster.opens("design", "Ada", "Bo")
    session = muster.runs("Ada")
    muster.runs("Bo")
    muster.spends("Ada", 0.25, 100, "design")
    muster.spends("Ada", 0.5, 30)
    muster.spends("Bo", 0.1, 7, "design")
    found = operator.get("/api/costs")
    ada, bo = found["agents"]
    seat = muster.agent("Ada").seat
    assert found["team"] == {**spent(0.85, 137), "inputTokens": 134, "outputTokens": 3}
    whole = {**spent(0.75, 130), "inputTokens": 128, "outputTokens": 2}
    unlimited = {"maxCostUsd": None, "maxTokens": None}
    burning = {"usdPerMinute": 0.5, "todayUsd": 0.75, "maxUsdPerDay": 20}
    named = {"agent": "Ada", "seat": seat, "counted": whole}
    assert ada == {**whole, **unlimited, **burning, **named}
    assert (found["usdPerMinute"], found["todayUsd"]) == (0.6, 0.85)
    assert bo["agent"] == "Bo"
    [lives] = [each for each in found["sessions"] if each["agent"] == "Ada"]
    assert lives == {
        **whole,
        **unlimited,
        "session": session,
        "agent": "Ada",
        "seat": seat,
        "ended": False,
    }
    [channel] = found["channels"]
    assert (channel["channel"], channel["costUsd"], channel["tokens"]) == ("design", 0.35, 107)
    assert operator.get("/api/agents/Ada")["used"] == whole
    assert operator.get("/api/agents/Ada/run")["used"] == whole
    assert operator.get("/api/agents/Ada/run")["session"]["used"] == whole
    assert operator.get("/api/channels/design")["used"]["costUsd"] == 0.35
    state = operator.get("/api/state")
    assert [each["used"]["costUsd"] for each in state["agents"]] == [0.75, 0.1]
    assert state["channels"][0]["used"]["tokens"] == 107


def test_a_session_that_is_over_is_listed_as_ended(muster: Inside, operator: Asker) -> None:
    muster.runs("Ada")
    muster.spends("Ada", 0.25, 100)
    operator.asked("PUT", "/api/agents/Ada/run", 200, json={"desired": "pause", "now": True})
    muster.until(lambda team: not team.sessions)
    found = operator.get("/api/costs")
    [ended] = found["sessions"]
    assert (ended["agent"], ended["ended"], ended["costUsd"]) == ("Ada", True, 0.25)
    assert found["agents"][0]["costUsd"] == 0.25
    assert found["agents"][0]["counted"] is None  # somebody has said since what is wanted
    assert found["team"]["costUsd"] == 0.25


def test_all_may_look_and_the_route_is_described(muster: Inside, operator: Asker) -> None:
    token = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    with asker(muster.server, token) as viewer:
        assert viewer.get("/api/costs") == operator.get("/api/costs")
    assert "/api/costs" in operator.get("/api/openapi.json")["paths"]


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_has_limits_that_a_person_may_change(muster: Inside, operator: Asker) -> None:
    muster.opens("design", "Ada")
    config = operator.get("/api/channels/design")["config"]
    assert (config["maxCostUsd"], config["maxTokens"]) == (0, 0)
    change = {"maxCostUsd": 0.5, "maxTokens": 1000}
    changed = operator.asked("PATCH", "/api/channels/design", 200, json=change)
    assert (changed["config"]["maxCostUsd"], changed["config"]["maxTokens"]) == (0.5, 1000)
    for wrong in ({"maxCostUsd": -1}, {"maxTokens": 0.5}, {"maxTokens": -1}, {"maxTokens": 10**16}):
        operator.refused("PATCH", "/api/channels/design", 422, "invalid", json=wrong)


def test_a_channel_that_reached_its_limit_rests_and_says_so(
    muster: Inside, operator: Asker
) -> None:
    muster.opens("design", "Ada", "Bo")
    muster.runs("Ada")
    muster.runs("Bo")
    operator.asked("PATCH", "/api/channels/design", 200, json={"maxCostUsd": 0.5})
    muster.spends("Ada", 0.75, 10, "design")
    operator.post("/api/channels/design/turn/complete", {"agent": "Ada"})
    shown = operator.get("/api/channels/design")
    assert (shown["resting"], shown["restLimit"], shown["holder"]) == (True, "maxCostUsd", None)
    assert operator.get("/api/agents/Bo/run")["desired"] == "continuous"
    notice = operator.get("/api/channels/design/messages")["messages"][-1]["text"]
    assert "$0.7500 used in all, and $0.5 are allowed (maxCostUsd)." in notice
    [channel] = operator.get("/api/costs")["channels"]
    assert (channel["costUsd"], channel["maxCostUsd"]) == (0.75, 0.5)


# ── conversations ─────────────────────────────────────────────────────────────────────────────────


def result(seq: int, conversation: str | None, cost_usd: float) -> e.Event:
    fact = e.SessionResult(
        seat=SeatId(0),
        session=SessionId("s"),
        usage=Usage(cost_usd=cost_usd),
        conversation=None if conversation is None else ConversationId(conversation),
    )
    return event(seq, fact)


def recorded(seq: int, conversation: str, cost_usd: float) -> e.Event:
    used, talk = Usage(cost_usd=cost_usd), ConversationId(conversation)
    return event(seq, e.UsageRecorded(conversation=talk, agent_name="writer", usage=used))


def event(seq: int, fact: e.Fact) -> e.Event:
    return e.Event(seq, EPOCH, SessionId("boot"), MUSTER, None, fact)


def in_log(*events: e.Event) -> Sequence[Stored]:
    return [stored(each) for each in events]


def test_a_conversation_is_told_of_with_all_who_worked_on_it(
    muster: Inside, operator: Asker
) -> None:
    muster.runs("Ada")
    muster.runs("Bo")
    path = str(muster.home / "talks")
    started = c.StartDelegation(mode=DelegationMode.INTERACTIVE, path=path, agents=("Bo",))
    muster.send(started)
    opened = c.OpenConversation(
        text="Write a guide", speaker_name="Grace", seat=muster.agent("Ada").seat
    )
    muster.send(opened)
    talk = ConversationId("conv_001")
    muster.spends("Ada", 0.25, 10)
    muster.send(c.Delegate(conversation=talk, to="Bo", trigger="it fits"))
    session = muster.team.delegation.conversations[talk].session
    assert session is not None
    used = Usage(cost_usd=0.5, output_tokens=5)
    muster.send(c.ReportResult(session=session, usage=used))
    found = operator.get("/api/costs")
    [shown] = found["conversations"]
    assert (shown["conversation"], shown["costUsd"], shown["tokens"]) == (talk, 0.75, 15)
    assert found["team"]["costUsd"] == 0.75
    assert {each["agent"]: each["costUsd"] for each in found["agents"]} == {
        "Ada": 0.25,
        "Bo": 0.5,
    }


def test_a_conversation_has_used_up_what_its_lead_and_those_without_a_seat_did() -> None:
    tally = Tally()
    tally.add(in_log(result(1, "conv_001", 0.25), result(2, None, 4.0)))
    tally.add(in_log(recorded(5, "conv_001", 0.5), recorded(6, "conv_002", 0.125)))
    costs_of = {name: used.cost_usd for name, used in tally.conversations.items()}
    assert costs_of == {"conv_001": 0.75, "conv_002": 0.125}
    assert (tally.seq, tally.seatless.cost_usd) == (6, 0.625)


def test_only_the_newest_conversations_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_costs, "CONVERSATIONS_MAX", 2)
    tally = Tally()
    tally.add(in_log(*(recorded(seq, f"conv_{seq:03}", 1.0) for seq in range(1, 4))))
    tally.add(in_log(result(4, "conv_002", 1.0), recorded(5, "conv_005", 1.0)))
    assert list(tally.conversations) == ["conv_002", "conv_005"]
    assert tally.seatless.cost_usd == 4.0  # nothing is lost from the sum


def test_the_log_is_added_up_in_bounded_pieces_and_each_event_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversation_costs, "PAGE_EVENTS", 2)
    monkeypatch.setattr(conversation_costs, "FOLDED_MAX", 4)
    asyncio.run(_added_up_in_pieces())


async def _added_up_in_pieces() -> None:
    store, talk = MemoryStore(), ConversationId("conv_001")
    await store.append([result(seq, talk, 1.0) for seq in range(1, 7)])
    added = Costs(store)
    with pytest.raises(StillReading):
        await added.tally()
    assert (await added.tally()).conversations[talk].cost_usd == 6.0
    await store.append([event(7, e.WarningLogged(text="x")), result(8, talk, 1.0)])
    tally = await added.tally()
    assert (tally.seq, tally.conversations[talk].cost_usd) == (8, 7.0)
    await store.append([event(9, e.WarningLogged(text="x"))])
    assert (await added.tally()).seq == 9


def test_usage_is_told_by_day_agent_and_model(muster: Inside, operator: Asker) -> None:
    session = muster.runs("Ada")
    for model, cost in (("opus", 0.5), ("haiku", 0.25), ("opus", 0.125)):
        used = Usage(cost_usd=cost, output_tokens=5)
        muster.send(c.ReportResult(session=session, usage=used, model=model))
    found = operator.get("/api/costs")["days"]
    assert len({each["day"] for each in found}) == 1
    by_model = {each["model"]: (each["agent"], each["costUsd"]) for each in found}
    assert by_model == {"opus": ("Ada", 0.625), "haiku": ("Ada", 0.25)}


def test_a_day_counts_work_that_was_cut_off_and_a_price_that_was_too_high() -> None:
    tally, session, used = Tally(), SessionId("s-1"), Usage(cost_usd=0.5, output_tokens=5)
    more = Usage(cost_usd=0.75, output_tokens=9)
    end = e.SessionEnd(session=session, seats=(SeatId(9),), outcome=Outcome.CRASHED)
    tally.add(
        in_log(
            event(1, e.WorkSpending(seat=SeatId(9), session=session, usage=used)),
            event(2, e.WorkSpending(seat=SeatId(9), session=session, usage=more)),
            event(3, end),
            event(4, e.HandReported(seat=SeatId(10), state=HandState.IDLE, usage=used)),
            event(5, e.HandReported(seat=SeatId(10), state=HandState.IDLE, refund_usd=0.25)),
        )
    )
    day = f"{EPOCH:%Y-%m-%d}"
    assert {key.seat: used.cost_usd for key, used in tally.days.items()} == {9: 0.75, 10: 0.25}
    assert {key.day for key in tally.days} == {day}
    assert tally.sessions[session].usage == more


def test_a_day_counts_work_that_goes_on_and_its_result_once_with_its_model() -> None:
    tally, session, used = Tally(), SessionId("s-1"), Usage(cost_usd=0.5, output_tokens=5)
    more = Usage(cost_usd=0.75, output_tokens=9)
    tally.add(in_log(event(1, e.WorkSpending(seat=SeatId(9), session=session, usage=used))))
    assert [(key.model, used.cost_usd) for key, used in tally.days.items()] == [("", 0.5)]
    result = e.SessionResult(seat=SeatId(9), session=session, ok=True, usage=more, model="opus")
    tally.add(in_log(event(2, result)))
    assert [(key.model, used) for key, used in tally.days.items()] == [("opus", more)]
    assert tally.sessions[session].usage == more
