"""Tokens over HTTP: the operator issues, lists and revokes them; each caller learns its identity.

A secret is in one answer and nowhere else: the log has only its digest.
"""

from muster.errors import SecretShown
from muster.http.auth import new_token
from muster.http.recording import record
from muster.http.routing import EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Body, Note
from muster.machines.commands import RevokeToken
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.views.answers import Recorded
from muster.views.answers.agents import CallerView, NewToken, TokenList, TokenView


class TokenBody(Body, frozen=True, kw_only=True):
    """The token to issue."""

    role: Role
    agent: str | None = None
    """The agent that the token acts as, where the role is `agent`."""

    note: Note = ""


@route("GET", "/api/me", may=EVERYBODY)
async def show_caller(call: ApiCall) -> CallerView:
    """Show the identity that the token of this request stands for."""
    return call.identity


@route("POST", "/api/tokens", may=OPERATOR, status=201)
async def issue_token(call: ApiCall, body: TokenBody) -> NewToken:
    """Issue a token; its secret is in this answer only."""
    seat = None if body.agent is None else call.agent(body.agent).seat
    command, secret = new_token(call.muster.ids, body.role, seat=seat, note=body.note)
    receipt = await call.send(command)
    if receipt.repeated:
        raise SecretShown(seq=receipt.seq)
    name = None if seat is None else call.team.agent(seat).id
    return NewToken(id=command.token_id, role=body.role, agent=name, note=body.note, secret=secret)


@route("GET", "/api/tokens", may=OPERATOR)
async def list_tokens(call: ApiCall) -> TokenList:
    """List every valid token, without secrets."""
    team = call.team
    views = [_view(team, token) for token in team.tokens.values()]
    views.sort(key=lambda view: (view.role, view.agent or "", view.id))
    return TokenList(tokens=tuple(views))


def _view(team: Team, token: Token) -> TokenView:
    name = None if token.seat is None else team.agent(token.seat).id
    return TokenView(id=token.id, role=token.role, agent=name, note=token.note)


@route("DELETE", "/api/tokens/{token}", may=OPERATOR)
async def revoke_token(call: ApiCall, token: str) -> Recorded:
    """Revoke a token. It is invalid from then on."""
    return await record(call, RevokeToken(token_id=token))
