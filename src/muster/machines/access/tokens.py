"""Tokens: which secret grants which role. Only the digests of secrets are stored.

The HTTP layer checks what a role permits; this module only records the tokens.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.errors import Invalid, NotFound, TokenExists
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.access.scopes import check_new_scope
from muster.machines.access.users import PEOPLE_ROLES, lesser, user_called
from muster.machines.events import Fact
from muster.machines.names import check_plain
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role


def issue_token(team: Team, command: c.IssueToken, now: datetime) -> Sequence[Fact]:
    check_plain("the token id", command.token_id)
    taken = any(token.id == command.token_id for token in team.tokens.values())
    if taken or command.digest in team.tokens:
        raise TokenExists(token_id=command.token_id)
    if (command.role is Role.AGENT) != (command.seat is not None):
        why = "needs a seat if its role is agent, and must have none otherwise"
        raise Invalid(what="a token", why=why)
    if command.seat is not None:
        team.agent(command.seat)
    if command.expires_at is not None and command.expires_at <= now:
        raise Invalid(what="the expiry of a token", why="must be in the future")
    check_new_scope(team, command.scope, command.role)
    issued = e.TokenIssued(
        token_id=command.token_id,
        role=command.role,
        digest=command.digest,
        seat=command.seat,
        note=command.note,
        user="" if command.user is None else _grantable(team, command.user, command.role),
        expires_at=command.expires_at,
        scope=command.scope,
    )
    return (issued,)


def _grantable(team: Team, name: str, role: Role) -> str:
    """The name of a user who may have a token with this role."""
    user = user_called(team, name)
    if role not in PEOPLE_ROLES or role is not lesser(role, user.role):
        why = f"of {user.name!r} grants {user.role} at most"
        raise Invalid(what="a token", why=why)
    return user.name


def rotate_token(team: Team, command: c.RotateToken, now: datetime) -> Sequence[Fact]:
    _token_called(team, command.token_id)
    if command.digest in team.tokens:
        raise TokenExists(token_id=command.token_id)
    return (e.TokenRotated(token_id=command.token_id, digest=command.digest),)


def revoke_token(team: Team, command: c.RevokeToken, now: datetime) -> Sequence[Fact]:
    token = _token_called(team, command.token_id)
    return (e.TokenRevoked(token_id=token.id, seat=token.seat),)


def _token_called(team: Team, token_id: str) -> Token:
    for token in team.tokens.values():
        if token.id == token_id:
            return token
    raise NotFound(kind="token", name=token_id)


def record_restore(team: Team, command: c.RecordRestore, now: datetime) -> Sequence[Fact]:
    return (e.LogRestored(backup_seq=command.backup_seq, made_at=command.made_at),)
