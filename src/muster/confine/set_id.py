"""Rules against programs that run as their owner (set-user-id, set-group-id).

Such a program, made by a confined command, would run unconfined with the account of the command
for whoever starts it. The mode is an argument of the calls that make a file. It lies in memory for
openat2, where a filter does not see it: that call answers that the kernel does not have it, and
programs use openat.
"""

from __future__ import annotations

from muster.confine.bpf import CallRules, argument_at

_EPERM, _ENOSYS = 1, 38

_SET_USER_ID, _SET_ID = 0o4000, 0o6000
_OPENAT2 = 437
_MAKES = 0o20000100  # O_CREAT, and the bit of O_TMPFILE

_OPEN = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}
"""open and openat, each with the place of its flags; the mode comes after them."""

_MAKE = {"x86_64": ((85, 1), (133, 1), (259, 2)), "aarch64": ((33, 2),)}
"""creat, mknod and mknodat, each with the place of the mode. mkdir ignores the bits."""

_CHANGE = {
    "x86_64": ((90, 1), (91, 1), (268, 2), (452, 2)),
    "aarch64": ((52, 1), (53, 2), (452, 2)),
}
"""chmod, fchmod, fchmodat and fchmodat2, each with the place of the mode."""


def keep_from_making(rules: CallRules, machine: str) -> None:
    """Refuse to make a file with one of the bits."""
    rules.answer_if(_OPENAT2, _ENOSYS)
    for number, flags in _OPEN[machine]:
        block = CallRules(_EPERM)
        block.load(argument_at(flags), mask=_MAKES)
        block.allow_if(0)
        rules.when(number, _without(_SET_ID, flags + 1, block))
    for number, mode in _MAKE[machine]:
        rules.when(number, _without(_SET_ID, mode))


def keep_from_changing(rules: CallRules, machine: str) -> None:
    """Refuse to set the user's bit. That of the group is common on shared folders."""
    for number, mode in _CHANGE[machine]:
        rules.when(number, _without(_SET_USER_ID, mode))


def _without(bits: int, mode: int, block: CallRules | None = None) -> CallRules:
    block = block or CallRules(_EPERM)
    block.load(argument_at(mode), mask=bits)
    block.refuse_unless(0)
    return block
