"""Network namespaces: machines of their own, as far as the network can tell.

Each has a link to this machine that can fall silent, both ways or one way. That needs root.
"""

import os
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

import pytest

BOTH, QUESTIONS, ANSWERS = "both ways", "questions", "answers"
SILENCES: Final = (BOTH, QUESTIONS, ANSWERS)
NETWORK: Final = "10.213.0.0/16"

_NOWHERE: Final = "02:00:00:00:00:01"
"""The hardware address of no interface: frames to it are lost, and no error is reported."""

_numbers = count(os.getpid() * 4)  # beside those of other processes that run tests


class Namespace:
    """A machine with one link to this one."""

    def __init__(self) -> None:
        number = next(_numbers) % 16384
        self.name = f"muster{number}"
        self._here, self._there = f"m{number}h", f"m{number}t"
        block = f"10.213.{number // 64}.{number % 64 * 4}"
        first, _, last = block.rpartition(".")
        self.host = f"{first}.{int(last) + 1}"
        """The address of this machine, seen from there."""

        self._guest = f"{first}.{int(last) + 2}"

    @property
    def within(self) -> Sequence[str]:
        """A command line that runs another one there."""
        return ("ip", "netns", "exec", self.name)

    def create(self) -> None:
        """Make the namespace and its link. Raises `CalledProcessError` where it must not."""
        here, there = self._here, self._there
        _ip("netns", "add", self.name)
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
        _ip("addr", "add", f"{self.host}/30", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", self.name, "addr", "add", f"{self._guest}/30", "dev", there)
        _ip("-n", self.name, "link", "set", there, "up")
        _ip("-n", self.name, "link", "set", "lo", "up")

    def silence(self, kind: str) -> None:
        """Lose everything both ways, or only what is sent from there, or only the answers."""
        if kind == BOTH:
            _ip("link", "set", self._here, "down")
        elif kind == QUESTIONS:
            _ip("-n", self.name, *_neighbour(self.host, self._there))
        else:
            _ip(*_neighbour(self._guest, self._here))

    def heal(self, kind: str) -> None:
        """End a silence."""
        if kind == BOTH:
            _ip("link", "set", self._here, "up")
        elif kind == QUESTIONS:
            _ip("-n", self.name, "neigh", "del", self.host, "dev", self._there)
        else:
            _ip("neigh", "del", self._guest, "dev", self._here)

    def remove(self) -> None:
        """Remove the namespace, and with it the link."""
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


def _neighbour(address: str, device: str) -> Sequence[str]:
    return ("neigh", "replace", address, "lladdr", _NOWHERE, "nud", "permanent", "dev", device)


def _ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, capture_output=True, text=True)


@contextmanager
def namespace() -> Generator[Namespace]:
    """A new namespace. Where none can be made, the test is skipped, and its report says why."""
    found = Namespace()
    try:
        try:
            found.create()
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", "") or error
            pytest.skip(f"NOT TRIED: no network namespace can be made here (root and `ip`): {why}")
        yield found
    finally:
        found.remove()
