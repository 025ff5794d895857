"""A program that keeps what it was started with, as most kinds of programs do."""

from muster.engine.ports import Runtime
from muster.engine.programs import ProgramInForce


class FixedProgram:
    """The part of a session whose program takes no changes and no commands while it runs."""

    async def withdraw_prompt(self, text: str) -> bool:
        """A prompt that was sent cannot be taken back."""
        return False

    async def adopt(self, runtime: Runtime) -> bool:
        """New settings wait for the next session."""
        return False

    @property
    def program(self) -> ProgramInForce | None:
        """Nothing: its model and its mode do not change."""
        return None

    async def choose(self, *, model: str | None, mode: str | None) -> None:
        """Keep the model and the mode."""

    def is_command(self, text: str) -> bool:
        """A prompt is never a command to it."""
        return False
