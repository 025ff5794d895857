"""Tokens over HTTP: the operator issues, lists and revokes them; each caller learns its identity.

A secret is in one answer and nowhere else: the log has only its digest.
"""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec.structs import asdict, replace

from muster.errors import SecretShown
from muster.http.auth import new_secret, new_token
from muster.http.recording import record
from muster.http.routing import EVERYBODY, OPERATOR, ApiCall, route
from muster.http.signing_in.digests import digest
from muster.http.signing_in.scoping import ScopeBody, scope_in
from muster.http.types import Body, Note
from muster.machines.commands import RevokeToken, RotateToken
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.views.access import view_scope
from muster.views.answers import Recorded
from muster.views.answers.agents import CallerView, NewToken, TokenList, TokenView


class TokenBody(Body, frozen=True, kw_only=True):
    """The token to issue."""

    role: Role
    agent: str | None = None
    """The agent that the token acts as, where the role is `agent`."""

    note: Note = ""
    user: str | None = None
    """The user who acts with the token; by default the human of the team."""

    days: Annotated[float, msgspec.Meta(gt=0, le=3650)] | None = None
    """After how many days the token expires."""

    scope: ScopeBody | None = None
    """The agents and channels that a member may act on with it; by default the whole team."""


@route("GET", "/api/me", may=EVERYBODY)
async def show_caller(call: ApiCall) -> CallerView:
    """Show the identity that the token of this request stands for."""
    return call.identity


@route("POST", "/api/tokens", may=OPERATOR, status=201)
async def issue_token(call: ApiCall, body: TokenBody) -> NewToken:
    """Issue a token; its secret is in this answer only."""
    seat = None if body.agent is None else call.agent(body.agent).seat
    command, secret = new_token(call.muster.ids, body.role, seat=seat, note=body.note)
    days = None if body.days is None else timedelta(days=body.days)
    until = None if days is None else call.muster.clock.now() + days
    scope = scope_in(call, body.scope)
    command = replace(command, user=body.user, expires_at=until, scope=scope)
    receipt = await call.send(command)
    if receipt.repeated:
        raise SecretShown(seq=receipt.seq)
    return _with_secret(call.muster.team, digest(secret), secret)


@route("POST", "/api/tokens/{token}/rotate", may=OPERATOR, status=201)
async def rotate_token(call: ApiCall, token: str) -> NewToken:
    """Replace the secret of a token. The old one is invalid from then on; browsers sign in anew."""
    secret = new_secret(call.muster.ids)
    receipt = await call.send(RotateToken(token_id=token, digest=digest(secret)))
    if receipt.repeated:
        raise SecretShown(seq=receipt.seq)
    return _with_secret(call.muster.team, digest(secret), secret)


def _with_secret(team: Team, found: str, secret: str) -> NewToken:
    view = _view(team, team.tokens[found])
    return NewToken(**asdict(view), secret=secret)


@route("GET", "/api/tokens", may=OPERATOR)
async def list_tokens(call: ApiCall) -> TokenList:
    """List every valid token, without secrets."""
    team = call.team
    views = [_view(team, token) for token in team.tokens.values()]
    views.sort(key=lambda view: (view.role, view.agent or "", view.id))
    return TokenList(tokens=tuple(views))


def _view(team: Team, token: Token) -> TokenView:
    name = None if token.seat is None else team.agent(token.seat).id
    return TokenView(
        id=token.id,
        role=token.role,
        agent=name,
        note=token.note,
        user=token.user or None,
        expires_at=token.expires_at,
        scope=view_scope(team, token.scope),
    )


@route("DELETE", "/api/tokens/{token}", may=OPERATOR)
async def revoke_token(call: ApiCall, token: str) -> Recorded:
    """Revoke a token. It is invalid from then on."""
    return await record(call, RevokeToken(token_id=token))
