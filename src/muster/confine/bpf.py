"""Writes the instructions of a seccomp filter (classic BPF)."""

from __future__ import annotations

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

NUMBER_AT, ARCH_AT = 0, 4
"""Where the number of the system call and the architecture are."""


def argument_at(argument: int) -> int:
    """Where the lower word of an argument is, which is all that the kernel takes of an `int`."""
    return 16 + 8 * argument


class CallRules:
    """A filter, or the block of one system call in it. A test is of the word loaded last."""

    __slots__ = ("_refusal", "data")

    def __init__(self, errno: int) -> None:
        self._refusal = _FAIL | errno
        self.data = b""
        """The array of `struct sock_filter`."""

    def load(self, at: int, *, mask: int | None = None) -> None:
        """Load a word, or the bits of a mask in it."""
        self._add(_LOAD, at)
        if mask is not None:
            self._add(_AND, mask)

    def allow(self) -> None:
        """Allow the call."""
        self._add(_RETURN, _ALLOW)

    def refuse(self) -> None:
        """Refuse the call."""
        self._add(_RETURN, self._refusal)

    def answer_if(self, value: int, errno: int) -> None:
        """Skip the call with an error if the word has this value; 0 reports success."""
        self._add(_EQUAL, value, 0, 1)
        self._add(_RETURN, _FAIL | errno)

    def allow_if(self, value: int) -> None:
        """Allow the call if the word has this value."""
        self._add(_EQUAL, value, 0, 1)
        self.allow()

    def refuse_if(self, value: int) -> None:
        """Refuse the call if the word has this value."""
        self._add(_EQUAL, value, 0, 1)
        self.refuse()

    def refuse_unless(self, value: int) -> None:
        """Refuse the call if the word has another value."""
        self._add(_EQUAL, value, 1, 0)
        self.refuse()

    def refuse_unless_null(self, argument: int) -> None:
        """Refuse the call if an argument, a pointer of two words, is not null."""
        for half in (0, 4):
            self.load(argument_at(argument) + half)
            self.refuse_unless(0)

    def when(self, call: int, block: CallRules) -> None:
        """Decide a system call by a block, which allows what it does not refuse."""
        block.allow()
        self._add(_EQUAL, call, 0, len(block.data) // 8)
        self.data += block.data

    def _add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        jumps = bytes((then, otherwise))
        self.data += code.to_bytes(2, "little") + jumps + value.to_bytes(4, "little")
