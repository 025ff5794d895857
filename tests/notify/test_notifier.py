"""The notifier: what is told, when, and how often."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.tasks import background
from muster.machines import commands as c
from muster.machines.events import WarningLogged
from muster.machines.vocabulary import NeedKind, Role
from muster.notify.notification import TOPICS, NotificationBatch, plain
from muster.notify.notifier import LOOK_SECONDS, SETTLE_SECONDS, NeedNotifier, is_quiet
from muster.notify.push.subscription import PushKeys, PushSubscription, PushTarget
from muster.notify.targets import DeliveryFailed
from muster.notify.told import FILE, ToldNeeds
from muster.settings.notify import NotifySettings
from muster.store.memory import MemoryStore
from muster.testing.clock import EPOCH, ManualClock
from tests.builders import ADA, a_dispatcher, eventually, logged, run, settled, with_agents
from tests.waits import until_async

PHONE = NotifySettings(url="http://phone")
DESK = NotifySettings(url="http://desk", about=("failed",))
DASHBOARD = "http://127.0.0.1:6878/"


class Stage:
    """A team with one agent, a notifier, and the deliveries that it made."""

    def __init__(self, dispatcher: Dispatcher, clock: ManualClock, store: MemoryStore) -> None:
        self.dispatcher = dispatcher
        self.clock = clock
        self.store = store
        self.targets: dict[str, NotifySettings] = {"phone": PHONE}
        self.told: list[tuple[str, NotificationBatch]] = []
        self.failing: set[str] = set()

    def deliver(
        self, target: NotifySettings, delivery: NotificationBatch, environ: Mapping[str, str]
    ) -> None:
        if target.url in self.failing:
            raise DeliveryFailed("no route")
        self.told.append((target.url, delivery))

    @asynccontextmanager
    async def notifying(self, home: Path | None = None) -> AsyncGenerator[None]:
        notifier = NeedNotifier(
            self.dispatcher,
            self.clock,
            lambda: self.targets,
            ToldNeeds(home),
            url=DASHBOARD,
            deliver=self.deliver,
        )
        async with background() as tasks:
            tasks.create_task(notifier.run())
            await settled()
            yield

    async def say(self, text: str) -> None:
        await self.dispatcher.send(c.TellHuman(seat=ADA, text=text), actor="agent:Ada")

    async def pass_time(self, seconds: float = SETTLE_SECONDS) -> None:
        await settled()
        self.clock.advance(seconds)
        await settled()

    def titles(self) -> list[str]:
        return [delivery.title for _, delivery in self.told]


async def a_stage() -> Stage:
    store, clock = MemoryStore(), ManualClock()
    dispatcher = await a_dispatcher(store, clock)
    await with_agents(dispatcher, "Ada")
    return Stage(dispatcher, clock, store)


def test_a_need_is_told_once_also_after_a_restart(tmp_path: Path) -> None:
    async def play() -> None:
        stage = await a_stage()
        async with stage.notifying(tmp_path):
            await stage.say("Please merge.")
            await stage.pass_time()
            await eventually(lambda: len(stage.told) == 1)
            await stage.pass_time(LOOK_SECONDS)
        async with stage.notifying(tmp_path):
            await stage.pass_time(LOOK_SECONDS)

        [(_, delivery)] = stage.told
        [told] = delivery.notifications
        assert (told.title, told.text) == ("Ada wrote to you", "Please merge.")
        assert told.url == f"{DASHBOARD}#/agent/Ada"
        assert (tmp_path / FILE).stat().st_mode & 0o077 == 0

    run(play())


def test_a_need_that_is_answered_at_once_is_not_told() -> None:
    async def play() -> None:
        stage = await a_stage()
        async with stage.notifying():
            await stage.pass_time()
            await stage.say("Please merge.")
            seen = c.SeeMessages(upto=stage.dispatcher.team.seq, seat=ADA)
            await stage.dispatcher.send(seen, actor="person:Grace")
            await stage.pass_time()
            await stage.pass_time()

        assert stage.told == []

    run(play())


def test_several_needs_are_one_delivery_and_topics_are_chosen() -> None:
    async def play() -> None:
        stage = await a_stage()
        stage.targets["desk"] = DESK
        async with stage.notifying():
            await stage.say("one")
            await stage.say("two")
            await stage.pass_time()
            await eventually(lambda: bool(stage.told))

        assert stage.titles() == ["Ada wrote 2 messages to you"]

    run(play())


def test_a_target_that_fails_is_retried_said_once_and_holds_up_no_other() -> None:
    async def play() -> None:
        stage = await a_stage()
        stage.targets["other"] = NotifySettings(url="http://other")
        stage.failing = {"http://phone"}
        async with stage.notifying():
            await stage.say("Please merge.")
            await stage.pass_time()
            await eventually(lambda: [url for url, _ in stage.told] == ["http://other"])
            for _ in range(3):
                await stage.pass_time(LOOK_SECONDS)
            stage.failing = set()

            async def delivered() -> bool:
                await stage.pass_time(LOOK_SECONDS)
                return len(stage.told) == 2

            await until_async(delivered)

        [warning] = await logged(stage.store, WarningLogged)
        assert isinstance(warning.fact, WarningLogged)
        assert "'phone' could not be told: no route" in warning.fact.text

    run(play())


def test_nobody_is_told_in_quiet_hours_and_all_is_told_at_their_end() -> None:
    async def play() -> None:
        stage = await a_stage()
        now = stage.clock.wall().astimezone()
        until = now + timedelta(minutes=30)
        quiet = f"{now - timedelta(minutes=1):%H:%M}-{until:%H:%M}"
        stage.targets["phone"] = NotifySettings(url="http://phone", quiet=quiet)
        async with stage.notifying():
            await stage.say("Please merge.")
            await stage.pass_time()
            assert stage.told == []
            for _ in range(35):
                await stage.pass_time(LOOK_SECONDS)
                await stage.pass_time()
            await eventually(lambda: len(stage.told) == 1)

    run(play())


def test_without_targets_nothing_is_looked_at() -> None:
    async def play() -> None:
        stage = await a_stage()
        stage.targets = {}
        async with stage.notifying():
            await stage.say("Please merge.")
            await stage.pass_time(LOOK_SECONDS)

        assert stage.told == []

    run(play())


def test_every_kind_of_need_belongs_to_a_topic() -> None:
    assert set(TOPICS) == set(NeedKind)


def test_words_of_agents_are_one_short_line() -> None:
    assert plain("a\nb\x1b[31m\u202e  c") == "a b[31m c"
    assert len(plain("x" * 10_000)) == 500


def test_a_lost_or_damaged_record_of_what_was_told_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")

    told = ToldNeeds(tmp_path)
    told.keep("phone", frozenset({"a"}))

    assert ToldNeeds(tmp_path).of("phone") == {"a"}


@pytest.mark.parametrize(("quiet", "expected"), [("", False), ("00:00-23:59", True)])
def test_quiet_hours_are_by_the_clock_of_the_machine(quiet: str, *, expected: bool) -> None:
    noon = EPOCH.astimezone().replace(hour=12)
    assert isinstance(noon, datetime)
    assert is_quiet(NotifySettings(quiet=quiet), noon) is expected


def test_the_quiet_hours_of_a_browser_are_in_its_own_time_zone() -> None:
    keys = PushKeys(p256dh="", auth="")
    night = datetime(2026, 5, 9, 15, 30, tzinfo=UTC)  # half past midnight in Tokyo
    for zone, expected in (("Asia/Tokyo", True), ("UTC", False)):
        there = PushSubscription(endpoint="", keys=keys, quiet="22:00-07:00", zone=zone)
        assert is_quiet(PushTarget(subscription=there, role=Role.MEMBER), night) is expected


def test_what_a_target_was_told_is_forgotten_with_the_target(tmp_path: Path) -> None:
    told = ToldNeeds(tmp_path)
    told.keep("phone", frozenset({"a"}))
    told.keep("browser 1", frozenset({"a"}))
    told.forget_all_but(["phone"])
    told.forget_all_but(["phone"])

    again = ToldNeeds(tmp_path)
    assert (again.of("phone"), again.of("browser 1")) == ({"a"}, frozenset())
