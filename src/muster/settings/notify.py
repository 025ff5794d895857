"""Tables of `muster.toml` about what leaves the machine: `[notify.NAME]` and `[telemetry]`.

A table of notify is a target of notifications: where a person is told, of what, and when not.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec

from muster.errors import BadSettings
from muster.settings.file import line_of
from muster.settings.rules import Rule, WrongError, converted, rule_of, shown, suggestion

NOTIFY: Final = "notify"

Topic = Literal["needs", "failed", "limit", "message"]
"""Kinds of notifications that a target can choose."""

ALL_TOPICS: Final[tuple[Topic, ...]] = ("needs", "failed", "limit", "message")

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_WRITE: Final = "Write [notify.NAME], and its settings below."


class QuietHours(msgspec.Struct, frozen=True):
    """A part of the day in which nobody is told; it may go over midnight."""

    start: time
    end: time

    def contains(self, moment: time) -> bool:
        """Whether a time of the day is in it."""
        if self.start <= self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[notify.NAME]` table: one target of notifications."""

    kind: Annotated[
        Literal["webhook", "ntfy", "slack", "email", "command"],
        Rule("How the target is told."),
    ] = "webhook"
    url: Annotated[
        str,
        Rule("Address of the target: https://..., or smtp://host:port and smtps:// for e-mail."),
    ] = ""
    command: Annotated[
        tuple[str, ...], Rule("Program that is started with the notification as JSON on stdin.")
    ] = ()
    sender: Annotated[str, Rule("E-mail address that messages come from.")] = ""
    to: Annotated[tuple[str, ...], Rule("E-mail addresses that messages go to.")] = ()
    user: Annotated[str, Rule("Name to sign in at the mail server with.")] = ""
    secret_env: Annotated[
        str,
        Rule(
            "Environment variable of muster with the secret: the key of a webhook's signature, the "
            "access token of ntfy, the password of the mail server."
        ),
    ] = ""
    about: Annotated[
        tuple[Topic, ...],
        Rule(
            'Kinds of notifications: "needs" (approvals, questions, stuck agents), "failed", '
            '"limit" (budgets, runaways), "message" (agents that write to you).'
        ),
    ] = ALL_TOPICS
    quiet: Annotated[
        str,
        Rule("Quiet hours in the local time of the machine, such as 22:00-07:00; empty is never."),
    ] = ""

    @property
    def quiet_hours(self) -> QuietHours | None:
        """The quiet hours; None where there are none."""
        return hours_in(self.quiet)

    @property
    def time_zone(self) -> None:
        """The time zone of the quiet hours: that of the machine."""


def hours_in(text: str) -> QuietHours | None:
    """The quiet hours in a text such as 22:00-07:00; None where there are none."""
    found = _HOURS.fullmatch(text)
    if found is None:
        return None
    first, minute, last, end = map(int, found.groups())
    return QuietHours(time(first, minute), time(last, end))


class PushSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[push]` table: push services of browsers."""

    hosts: Annotated[
        tuple[str, ...],
        Rule("Hosts of push services of your own, which may have private addresses."),
    ] = ()
    contact: Annotated[
        str,
        Rule(
            "Address that push services can write to, such as mailto:you@example.com; empty is "
            "server.public_url, if it is https."
        ),
    ] = ""


SCHEMES: Final[Mapping[str, tuple[str, ...]]] = {
    "webhook": ("https", "http"),
    "ntfy": ("https", "http"),
    "slack": ("https", "http"),
    "email": ("smtp", "smtps"),
}


def read_notify(path: Path, text: str, written: object) -> Mapping[str, NotifySettings]:
    """The targets of the file by name. `written` is the content of its `notify` table."""
    if not isinstance(written, dict):
        what = f"{NOTIFY} is {shown(written)}"
        raise BadSettings(path=path, line=line_of(text, (NOTIFY,)), what=what, remedy=_WRITE)
    targets: dict[str, NotifySettings] = {}
    for name, table in cast("dict[str, object]", written).items():
        try:
            targets[name] = _target(name, table)
        except WrongError as wrong:
            line = line_of(text, (NOTIFY, name))
            what, remedy = wrong.what, wrong.remedy
            raise BadSettings(path=path, line=line, what=what, remedy=remedy) from None
    return targets


def _target(name: str, table: object) -> NotifySettings:
    if not isinstance(table, dict):
        raise WrongError(f"{NOTIFY}.{name} is {shown(table)}, not a table", _WRITE)
    values = dict(_values(name, cast("dict[str, object]", table)))
    target = NotifySettings(**values)
    _check(f"{NOTIFY}.{name}", target)
    return target


# The value of any setting; its kind says the type.
def _values(name: str, table: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    kinds = {field.name: field.type for field in msgspec.structs.fields(NotifySettings)}
    for key, value in table.items():
        full = f"{NOTIFY}.{name}.{key}"
        if key not in kinds:
            otherwise = f"remove it; a target has {', '.join(kinds)}"
            raise WrongError(f"there is no setting {full}", suggestion(key, kinds, otherwise))
        yield key, converted(full, value, kinds[key], rule_of(kinds[key]))


def _check(full: str, target: NotifySettings) -> None:
    """Refuse a target that lacks what its kind needs."""
    if target.quiet and target.quiet_hours is None:
        raise WrongError(f"{full}.quiet is {shown(target.quiet)}", "Write it as 22:00-07:00.")
    if target.kind == "command":
        if not target.command:
            raise WrongError(f"{full} has no command", "Write the program and its arguments.")
        return
    schemes = SCHEMES[target.kind]
    if urlsplit(target.url).scheme not in schemes or not urlsplit(target.url).hostname:
        remedy = f"Write one that begins with {' or '.join(f'{each}://' for each in schemes)}."
        raise WrongError(f"{full}.url is {shown(target.url)}", remedy)
    if target.kind == "ntfy" and not urlsplit(target.url).path.strip("/"):
        remedy = "Write the topic behind the server, such as https://ntfy.example/team."
        raise WrongError(f"{full}.url is {shown(target.url)}", remedy)
    if target.kind == "email" and not (target.sender and target.to):
        raise WrongError(f"{full} has no sender, or no to", "Write both addresses.")


class TelemetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[telemetry]` table: traces and logs for OpenTelemetry."""

    otlp_url: Annotated[
        str,
        Rule(
            "Address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; "
            "empty means none. Taken up at the next start."
        ),
    ] = ""
    content: Annotated[
        bool,
        Rule("Whether requests, messages and tool inputs are sent, not names and numbers alone."),
    ] = False
