"""Every bound, with its unit and its reason. What a user may change is a setting, not a limit."""

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
"""How many recent messages of a channel are known by their keys: more than anybody retries."""

KEY_CHARS_MAX: Final = 128
"""A sender's key for a message: a UUID and some."""

TRANSCRIPT_BYTES_MAX: Final = 256 * 1024
"""What an agent remembers of its last life when it wakes; the newest of it."""

REASON_CHARS_MAX: Final = 300
"""How much of a failure is kept as the reason of a turn's end."""

NOTE_CHARS_MAX: Final = 500
"""A note or a reason beside something: a sentence or two, as it is shown in a table."""

USAGE_TOKENS_MAX: Final = 10**12
"""Tokens of one kind that one result may report: more than any model reads or writes in a month."""

USAGE_COST_USD_MAX: Final = 1_000_000.0
"""What one result may report as its cost."""

USAGE_SUM_MAX: Final = 2**53
"""Where sums of usage stop growing: the largest integer that every reader of JSON has exactly, and
far inside what a snapshot can hold."""

REQUEST_BYTES_MAX: Final = 2 * MESSAGE_BYTES_MAX
"""One HTTP request: the largest message, with room for what JSON makes of it."""

DISCARDED_BYTES_MAX: Final = 64 * 1024 * 1024
"""How much of a request that is too large is read and thrown away, so that its sender sees the
answer and not a broken connection."""

REQUESTS_PER_SECOND: Final = 1000.0
"""What an agent or a viewer may ask a second: far more than anybody needs who waits for answers,
and few enough that one in a loop leaves room for the others."""

OPERATOR_REQUESTS_PER_SECOND: Final = 20_000.0
"""What the operator may ask a second: more than one server answers. It is their server."""

STRANGER_REQUESTS_PER_SECOND: Final = 100.0
"""How many requests a second, of all strangers together, are told that they need a token."""

BURST_SECONDS: Final = 2.0
"""For how long a rate may be saved up."""

CHANNEL_MEMBERS_MAX: Final = 256
"""A round with more members would take hours, and a ring is copied when it changes."""

IDLE_ROUNDS_MAX: Final = 1_000_000
"""Silent rounds before a channel rests: as good as never."""

TURN_SECONDS_MIN: Final = 0.1
"""The shortest timeout that may be configured: nobody answers faster, and the log would fill."""

TURN_SECONDS_MAX: Final = 7 * 24 * 3600.0
"""The longest timeout that may be configured: a week."""

MAX_TURNS_MAX: Final = 64
"""How many turns one agent may hold at once."""

RENEW_FRACTION: Final = 0.125
"""A sign of work is logged only when it moves the deadline by this part of the timeout, so that a
chatty agent does not fill the log."""

HATCHING_SECONDS: Final = 300.0
"""The seed's five minutes: who has no name by then was not born."""

INTERRUPT_SECONDS: Final = 10.0
"""How long work that lost its turn may take to stop before its session is killed."""

KILL_SECONDS: Final = 10.0
"""How long a kill may take to be confirmed before the channel goes on without it."""

PACE_SECONDS: Final = 1.0
"""Sessions of one agent under `continuous` start at most this often: a program that ends at once is
not run in a busy loop."""

OUTPUT_BYTES_MAX: Final = 16 * 1024
"""How much output one event carries."""

RETRY_SECONDS_FIRST: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0
"""Pauses after failures: doubled from the first to the last."""

COUPLING_STEPS_MAX: Final = 100_000
"""Commands that may follow from one. Boot of a large team needs thousands; a loop is a bug."""
