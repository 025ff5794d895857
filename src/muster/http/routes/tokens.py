"""Tokens over HTTP: the operator issues, lists and revokes them.

A secret is in one answer and nowhere else: the log has its digest, and nobody can ask for it again.
"""

from typing import Annotated, Final

import msgspec

from muster import limits
from muster.engine.ports import Ids
from muster.http.browser_sessions import digest
from muster.http.routing import OPERATOR, Call, Route
from muster.machines.commands import IssueToken, RevokeToken
from muster.machines.ids import SeatId
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.views.agents import NewToken, TokenList, TokenView

Note = Annotated[str, msgspec.Meta(max_length=limits.NOTE_CHARS_MAX)]


class TokenWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which token is wanted."""

    role: Role
    agent: str | None = None
    """Whose token, where the role is `agent`."""

    note: Note = ""


class Done(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """That it is done, and where the log stood then."""

    seq: int


async def issue_token(call: Call) -> NewToken:
    """Issue a token, and tell its secret."""
    wish: TokenWish = call.body
    seat = None if wish.agent is None else call.agent(wish.agent).seat
    command, secret = new_token(call.muster.ids, wish.role, seat=seat, note=wish.note)
    await call.send(command)
    name = None if seat is None else call.team.agent(seat).id
    return NewToken(id=command.token_id, role=wish.role, agent=name, note=wish.note, secret=secret)


def new_token(
    ids: Ids, role: Role, *, seat: SeatId | None = None, note: str = ""
) -> tuple[IssueToken, str]:
    """The command that issues a token, and the secret that it does not contain."""
    secret = f"muster_{ids.new().replace('-', '')}"
    token_id = ids.new().rpartition("-")[2]  # short enough to type
    return IssueToken(
        token_id=token_id, role=role, digest=digest(secret), seat=seat, note=note
    ), secret


async def list_tokens(call: Call) -> TokenList:
    """Say which tokens count."""
    team = call.team
    views = [_view(team, token) for token in team.tokens.values()]
    views.sort(key=lambda view: (view.role, view.agent or "", view.id))
    return TokenList(tokens=tuple(views))


def _view(team: Team, token: Token) -> TokenView:
    name = None if token.seat is None else team.agent(token.seat).id
    return TokenView(id=token.id, role=token.role, agent=name, note=token.note)


async def revoke_token(call: Call) -> Done:
    """Let a token count for nothing any more."""
    receipt = await call.send(RevokeToken(token_id=call.path["id"]))
    return Done(seq=receipt.seq)


ROUTES: Final = (
    Route(
        method="POST",
        path="/api/tokens",
        handler=issue_token,
        may=OPERATOR,
        summary="Issue a token; its secret is in this answer only.",
        body=TokenWish,
        answer=NewToken,
        status=201,
    ),
    Route(
        method="GET",
        path="/api/tokens",
        handler=list_tokens,
        may=OPERATOR,
        summary="Every token that counts, without secrets.",
        answer=TokenList,
    ),
    Route(
        method="DELETE",
        path="/api/tokens/{id}",
        handler=revoke_token,
        may=OPERATOR,
        summary="Revoke a token. It counts for nothing from then on.",
        answer=Done,
    ),
)
