"""Tells the targets of notifications what needs a person, once each.

A look at the needs follows every commit, a moment later: what is answered at once is never told.
Each target has a delivery of its own under way, so that a slow one holds up no other. A delivery
that fails is tried again with growing pauses while the need is open, and is said once in the log.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock, Timer
from muster.engine.tasks import TaskOwner
from muster.errors import MusterError
from muster.machines.backoff import pause_s
from muster.machines.commands import LogWarning
from muster.machines.ids import MUSTER
from muster.notify.notification import NotificationBatch, new_notifications
from muster.notify.push.desk import PushDesk, SubscriptionGone
from muster.notify.push.subscription import PushTarget
from muster.notify.targets import deliver
from muster.notify.told import ToldNeeds
from muster.settings.notify import NotifySettings
from muster.views.access import access_of
from muster.views.answers.needs import NeedList, NeedView
from muster.views.needs import view_needs

log = logging.getLogger(__name__)

SETTLE_SECONDS: Final = 1.0
"""The pause after a commit: an approval that a rule answers needs no person."""

LOOK_SECONDS: Final = 60.0
"""The longest pause while there is something to tell later: quiet hours end, needs come back."""

THREADS: Final = 4
"""Deliveries that are under way at once; each waits for another program."""

Target = NotifySettings | PushTarget
Targets = Callable[[], Mapping[str, NotifySettings]]
Deliver = Callable[[NotifySettings, NotificationBatch, Mapping[str, str]], None]


class NeedNotifier:
    """Follows the needs of a team, and tells them to the targets of its settings."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        targets: Targets,
        told: ToldNeeds,
        *,
        url: str,
        push: PushDesk | None = None,
        deliver: Deliver = deliver,
    ) -> None:
        """`url` is the dashboard, `push` tells browsers, and `deliver` tells the other targets.
        Both are called in threads.
        """
        self._dispatcher = dispatcher
        self._clock = clock
        self._targets = targets
        self._told = told
        self._url = url
        self._push = push
        self._deliver = deliver
        self._changed = asyncio.Event()
        self._changed.set()
        self._deliveries = TaskOwner("notifications")
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="muster-notify")
        self._timer: Timer | None = None
        self._busy: set[str] = set()
        self._failures: dict[str, int] = {}
        dispatcher.watch(self._on_commit)
        if push is not None:
            push.on_change = self._changed.set

    async def run(self) -> None:
        """Tell the targets until cancelled."""
        try:
            while True:
                await self._changed.wait()
                await self._clock.sleep(SETTLE_SECONDS)
                self._changed.clear()
                self._look_again(self._look())
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            await self._deliveries.cancel()

    def _on_commit(self, commit: Commit) -> None:
        if self._targets() or self._browsers():
            self._changed.set()

    def _browsers(self) -> Mapping[str, PushTarget]:
        """The browsers that are to be told, by the ids of their sessions."""
        subscribers = None if self._push is None else self._push.subscribers
        return {} if subscribers is None else subscribers.subscribed(self._dispatcher.team)

    def _look(self) -> float | None:
        """Start the deliveries that are due; the seconds until the next look, where time counts."""
        targets: dict[str, Target] = {**self._targets(), **self._browsers()}
        if self._push is None or self._push.subscribers is not None:  # else: not known yet
            self._told.forget_all_but(targets)
        if not targets:
            return None
        now = self._clock.now()
        found = view_needs(self._dispatcher.team, now)
        waits = [
            self._tell(name, target, self._needs_for(target, found, now))
            for name, target in targets.items()
            if name not in self._busy
        ]
        if any(waits):
            return LOOK_SECONDS
        return None if found.changes_at is None else (found.changes_at - now).total_seconds()

    def _needs_for(self, target: Target, found: NeedList, now: datetime) -> tuple[NeedView, ...]:
        """The needs that a target may know of: a member's browser knows no private channel."""
        team = self._dispatcher.team
        if not isinstance(target, PushTarget) or not team.private:
            return found.needs
        return view_needs(access_of(team, target.role, None).shown(team), now).needs

    def _look_again(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        wake = self._changed.set
        self._timer = None if seconds is None else self._clock.call_later(max(seconds, 0.0), wake)

    def _tell(self, name: str, target: Target, needs: tuple[NeedView, ...]) -> bool:
        """Start a delivery to a target; whether it waits for the end of quiet hours."""
        open_keys = frozenset(need.key for need in needs)
        told = self._told.of(name) & open_keys
        self._told.keep(name, told)
        fresh = new_notifications(needs, told, target.about, self._url)
        if not fresh:
            return False
        if is_quiet(target, self._clock.wall()):
            return True
        self._busy.add(name)
        self._deliveries.start(
            self._send(name, target, NotificationBatch(notifications=fresh, url=self._url))
        )
        return False

    async def _send(self, name: str, target: Target, delivery: NotificationBatch) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, self._deliver_to, target, delivery)
        except SubscriptionGone:
            self._unsubscribe(name)
        except Exception as error:  # whatever a target does to us, the others are told
            await self._failed(name, error)
        else:
            self._failures.pop(name, None)
            keys = frozenset(each.key for each in delivery.notifications)
            self._told.keep(name, self._told.of(name) | keys)
        finally:
            self._busy.discard(name)
            self._changed.set()

    def _deliver_to(self, target: Target, delivery: NotificationBatch) -> None:
        if not isinstance(target, PushTarget):
            self._deliver(target, delivery, os.environ)
        elif self._push is not None:
            self._push.deliver(target, delivery)

    def _unsubscribe(self, browser: str) -> None:
        """The push service has ended a subscription: the person removed it, or the browser."""
        if self._push is not None and self._push.subscribers is not None:
            self._push.subscribers.unsubscribe(browser)

    async def _failed(self, name: str, failed: Exception) -> None:
        """Wait before the next attempt. The first failure of a row is said in the log."""
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        if failures == 1:
            text = f"The notification target {name!r} could not be told: {failed}. It is retried."
            try:
                await self._dispatcher.send(LogWarning(text=text), actor=MUSTER)
            except MusterError as error:
                log.warning("%s (%s)", text, error, extra={"action": "not_notified"})
        await self._clock.sleep(pause_s(failures))


def is_quiet(target: Target, now: datetime) -> bool:
    """Whether it is in the quiet hours of a target: in a browser's time zone, or the machine's."""
    quiet = target.quiet_hours
    return quiet is not None and quiet.contains(now.astimezone(target.time_zone).time())
