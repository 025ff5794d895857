"""Every bound, with its unit and its reason. What a user may change is a setting, not a limit."""

from typing import Final

NAME_CHARS_MAX: Final = 64
"""A name is shown in a tile of the grid and used in file names."""

SOUL_BYTES_MAX: Final = 256 * 1024
"""A soul goes into every wake prompt; a quarter megabyte is a book."""

MESSAGE_BYTES_MAX: Final = 1024 * 1024
"""One message. Larger things are files, and files are named, not pasted."""

MESSAGE_KEYS_MAX: Final = 256
"""How many recent messages of a channel are known by their keys: more than anybody retries."""

KEY_CHARS_MAX: Final = 128
"""A sender's key for a message: a UUID and some."""

CHANNEL_MEMBERS_MAX: Final = 256
"""A round with more members would take hours, and a ring is copied when it changes."""

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

RETRY_SECONDS_FIRST: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0
"""Pauses after failures: doubled from the first to the last."""

COUPLING_STEPS_MAX: Final = 100_000
"""Commands that may follow from one. Boot of a large team needs thousands; a loop is a bug."""
