"""Every limit, with its unit and its reason. Values that a user may change are settings."""

from typing import Final

NAME_CHARS_MAX: Final = 64
"""A name is shown in a tile of the grid and used in file names."""

SEAT_MAX: Final = 99_999
"""The last seat that a registration or a document may name: more than any team has."""

SOUL_BYTES_MAX: Final = 256 * 1024
"""A soul goes into every wake prompt; a quarter megabyte is a book."""

MESSAGE_BYTES_MAX: Final = 1024 * 1024
"""One message. Larger things are files, and files are named, not pasted."""

MESSAGE_KEYS_MAX: Final = 256
"""Idempotency keys kept per channel, for its recent messages: more than any sender retries."""

KEY_CHARS_MAX: Final = 128
"""A sender's idempotency key for a message: a UUID and some."""

TRANSCRIPT_BYTES_MAX: Final = 256 * 1024
"""Transcript of the last session that a waking agent gets; the newest part."""

REASON_CHARS_MAX: Final = 300
"""How much of a failure is kept as the reason of a turn's end."""

NOTE_CHARS_MAX: Final = 500
"""A note or a reason: a sentence or two, to fit a table."""

USAGE_TOKENS_MAX: Final = 10**12
"""Tokens of one kind that one result may report: more than any model reads or writes in a month."""

USAGE_COST_USD_MAX: Final = 1_000_000.0
"""What one result may report as its cost."""

USAGE_SUM_MAX: Final = 2**53
"""Upper bound of usage sums: the largest integer that every JSON parser represents exactly, and far
below the limit of a snapshot."""

REQUEST_BYTES_MAX: Final = 2 * MESSAGE_BYTES_MAX
"""One HTTP request: the largest message, with room for JSON escapes."""

DISCARDED_BYTES_MAX: Final = 64 * 1024 * 1024
"""How much of a request that is too large is read and discarded, so that the sender gets the
answer and not a connection reset."""

REQUESTS_PER_SECOND: Final = 1000.0
"""Rate limit of an agent or a viewer: far more than a caller that waits for answers needs, and low
enough that one busy loop leaves room for the others."""

OPERATOR_REQUESTS_PER_SECOND: Final = 20_000.0
"""Rate limit of the operator: more than one server can answer. It is their server."""

STRANGER_REQUESTS_PER_SECOND: Final = 100.0
"""Rate limit of all unauthenticated callers together; above it they get 429, not 401."""

BURST_SECONDS: Final = 2.0
"""Burst of a rate limit: unused capacity is kept for this long."""

CHANNEL_MEMBERS_MAX: Final = 256
"""A round with more members would take hours, and the ring is copied at every change."""

IDLE_ROUNDS_MAX: Final = 1_000_000
"""The most silent rounds before a channel rests that may be configured: practically never."""

TURN_SECONDS_MIN: Final = 0.1
"""The shortest timeout that may be configured: no agent answers faster, and the log would fill."""

TURN_SECONDS_MAX: Final = 7 * 24 * 3600.0
"""The longest timeout that may be configured: a week."""

MAX_TURNS_MAX: Final = 64
"""How many turns one agent may hold at once."""

RENEW_FRACTION: Final = 0.125
"""Activity is logged only when it moves the deadline by this fraction of the timeout, so that a
chatty agent does not fill the log."""

HATCHING_SECONDS: Final = 300.0
"""Timeout of a birth: an agent without a name after five minutes counts as not born."""

INTERRUPT_SECONDS: Final = 10.0
"""Grace period after an interrupt, when a turn is lost, before the session is killed."""

KILL_SECONDS: Final = 10.0
"""Timeout of the confirmation of a kill; afterwards the channel goes on without it."""

PACE_SECONDS: Final = 1.0
"""Shortest interval between session starts of one agent under `continuous`, so that a program that
exits at once is not restarted in a busy loop."""

OUTPUT_BYTES_MAX: Final = 16 * 1024
"""Output in one event."""

RETRY_SECONDS_FIRST: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0
"""Backoff after failures: doubled from the first to the longest."""

COUPLING_STEPS_MAX: Final = 100_000
"""Follow-up commands of one command. Booting a large team needs thousands; a loop is a bug."""
