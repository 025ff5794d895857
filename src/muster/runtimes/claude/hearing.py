"""An ear that hears one thing after the other, from however many sides they come."""

import asyncio
import logging
from collections.abc import Sequence

from muster.engine.ports import Call, Ear, Permission, PermissionAnswer, Reply, Said

log = logging.getLogger(__name__)


class OrderlyEar:
    """What a session says, in order; a failure to take it in is nobody's end."""

    def __init__(self, ear: Ear) -> None:
        """Bring everything there."""
        self._ear = ear
        self._lock = asyncio.Lock()

    async def hear(self, said: Said) -> None:
        """Take one thing in."""
        await self.hear_all((said,))

    async def hear_all(self, said: Sequence[Said]) -> None:
        """Take several in, with nothing in between."""
        if not said:
            return
        async with self._lock:
            for each in said:
                try:
                    await self._ear.hear(each)
                except Exception as error:  # there is more to hear
                    log.error(
                        "what a session said was not heard",
                        exc_info=error,
                        extra={"action": "hear"},
                    )

    async def serve(self, call: Call) -> Reply:
        """Calls wait for nobody."""
        return await self._ear.serve(call)

    async def permit(self, request: Permission) -> PermissionAnswer:
        """Nor do questions."""
        return await self._ear.permit(request)
