"""Refused requests on record: counted by who tried, in one warning a minute."""

import httpx

from muster.errors import Forbidden, InvalidToken, NotFound
from muster.http.app import build
from muster.http.signing_in.refusals import COUNT_SECONDS, KINDS_MAX, RefusedRequests
from muster.machines.events import WarningLogged as Warned
from muster.store.codec import decode
from tests.builders import run, settled
from tests.sessions.test_intake import Stage, staged

BOB = "Bob, token 7"


async def warnings(stage: Stage) -> list[str]:
    """The warnings on record about refused requests."""
    await settled()
    stored = await stage.muster.store.read(after=0, limit=1000)
    facts = [decode(each.data).fact for each in stored]
    texts = [each.text for each in facts if isinstance(each, Warned)]
    return [text for text in texts if text.startswith("refused requests")]


def test_refused_requests_are_one_warning_a_minute_by_who_tried() -> None:
    async def scene() -> None:
        async with staged() as stage:
            refused = RefusedRequests(stage.muster.dispatcher, stage.clock)
            for _ in range(100):
                refused.count(InvalidToken(), "a stranger")
            refused.count(Forbidden(who="Bob", act="stop agents", remedy=""), BOB)
            refused.count(NotFound(kind="agent", name="x"), BOB)
            assert await warnings(stage) == []
            stage.clock.advance(COUNT_SECONDS)
            [told] = await warnings(stage)
            assert told == (
                "refused requests in the last minute: 100 of a stranger (unauthenticated), "
                "1 of Bob, token 7 (forbidden)"
            )
            stage.clock.advance(10 * COUNT_SECONDS)
            assert len(await warnings(stage)) == 1

    run(scene())


def test_many_different_callers_are_counted_together() -> None:
    async def scene() -> None:
        async with staged() as stage:
            refused = RefusedRequests(stage.muster.dispatcher, stage.clock)
            for number in range(3 * KINDS_MAX):
                refused.count(InvalidToken(), f"stranger {number}")
            stage.clock.advance(COUNT_SECONDS)
            [told] = await warnings(stage)
            assert f"{2 * KINDS_MAX} of others" in told

    run(scene())


def test_a_request_with_a_wrong_token_is_counted() -> None:
    async def scene() -> None:
        async with staged() as stage:
            transport = httpx.ASGITransport(app=build(stage.muster))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1"
            ) as client:
                found = await client.get("/api/log", headers={"Authorization": "Bearer wrong"})
                assert found.status_code == 401
            stage.clock.advance(COUNT_SECONDS)
            [told] = await warnings(stage)
            assert told.endswith("1 of a stranger (unauthenticated)")

    run(scene())
