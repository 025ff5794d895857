"""`muster doctor` about the database of a home: how safe the log is there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from muster.cli.reading import now
from muster.cli.setup.checks.findings import Finding, Level
from muster.errors import MusterError
from muster.home.database import FILE, database_of
from muster.store.opening import examine_database

if TYPE_CHECKING:
    from muster.store.postgres.examining import ServerFacts

CLOCK_SECONDS: Final = 1.0
"""A difference of clocks that is told: with NTP it is some milliseconds."""

CONNECTIONS_FREE: Final = 6
"""A muster has three connections, and a verb without a server one."""

VERIFIED: Final = ("verify-ca", "verify-full")


def database_findings(home: Path) -> Iterator[Finding]:
    """Findings about the database of a home; none where the log is in a file."""
    try:
        kept = database_of(home, os.environ)
        facts = examine_database(home)
    except MusterError as failed:
        yield Finding(Level.FIX, "database", str(failed))
        return
    if kept is None or facts is None:
        return
    yield _version(facts, kept.place)
    yield _durability(facts)
    yield _clock(facts)
    yield _connections(facts)
    yield _encryption(facts, kept.url)
    if (home / FILE).exists() and (home / FILE).stat().st_mode & 0o077:
        open_to = f"{home / FILE} is open to others. `chmod 600` closes it."
        yield Finding(Level.WARN, "database", open_to)


def _version(facts: "ServerFacts", place: str) -> Finding:
    from muster.store.postgres.examining import VERSION_KNOWN, VERSION_NEEDED

    found = f"PostgreSQL {facts.version_text} at {place}"
    if facts.version < VERSION_NEEDED:
        need = f"muster needs {VERSION_NEEDED} or later. Upgrade the server."
        return Finding(Level.FIX, "database", f"{found}, but {need}")
    if facts.is_standby:
        remedy = "Name the primary, or add target_session_attrs=read-write to the address."
        return Finding(
            Level.FIX, "database", f"{found} is a standby and takes no commits. {remedy}"
        )
    if facts.version > VERSION_KNOWN:
        newer = f"which is newer than any that muster was tried with ({VERSION_KNOWN})"
        return Finding(Level.NOTE, "database", f"{found}, {newer}")
    return Finding(Level.OK, "database", found)


def _durability(facts: "ServerFacts") -> Finding:
    subject = "database standby"
    if not facts.flushes:
        found = "fsync is off: a power loss may damage the log. Turn it on."
        return Finding(Level.WARN, subject, found)
    if facts.standbys:
        return Finding(Level.OK, subject, f"{facts.standbys} synchronous, {facts.standbys_wanted}")
    if facts.standbys_wanted:
        found = f"{facts.standbys_wanted} is not connected: commits wait for it"
        return Finding(Level.WARN, subject, found)
    found = (
        "none is synchronous: if the machine of the database is lost, so are the last commits. "
        "Set synchronous_standby_names to lose none."
    )
    return Finding(Level.NOTE, subject, found)


def _clock(facts: "ServerFacts") -> Finding:
    ahead_s = (facts.time - now()).total_seconds() + facts.round_trip_s / 2
    found = f"{abs(ahead_s):.3f} s {'ahead of' if ahead_s > 0 else 'behind'} this machine"
    if abs(ahead_s) < CLOCK_SECONDS:
        return Finding(Level.OK, "database clock", found)
    remedy = "The team goes by the database's. Let NTP set both."
    return Finding(Level.WARN, "database clock", f"{found}. {remedy}")


def _connections(facts: "ServerFacts") -> Finding:
    found = f"{facts.connections} of {facts.connections_max} in use"
    if facts.connections_free >= CONNECTIONS_FREE:
        return Finding(Level.OK, "database connections", found)
    remedy = "A muster needs three. Raise max_connections, or end other clients."
    return Finding(Level.WARN, "database connections", f"{found}. {remedy}")


def _encryption(facts: "ServerFacts", url: str) -> Finding:
    subject = "database TLS"
    if facts.is_local:
        return Finding(Level.OK, subject, "not needed: the server is on this machine")
    if not facts.is_encrypted:
        found = "off: the log and the password travel in plain text. Add sslmode=verify-full."
        return Finding(Level.WARN, subject, found)
    mode = parse_qs(urlsplit(url).query).get("sslmode", ["prefer"])[0]
    if mode in VERIFIED:
        return Finding(Level.OK, subject, f"on, sslmode={mode}")
    found = f"on, but sslmode={mode} does not check which server it is. Use sslmode=verify-full."
    return Finding(Level.WARN, subject, found)
