"""Tokens: which secret grants which role. Only the digests of secrets are stored.

The HTTP layer checks what a role permits; this module only records the tokens.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.errors import Invalid, NotFound, TokenExists
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.names import check_plain
from muster.machines.state import Team
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
    issued = e.TokenIssued(
        token_id=command.token_id,
        role=command.role,
        digest=command.digest,
        seat=command.seat,
        note=command.note,
    )
    return (issued,)


def revoke_token(team: Team, command: c.RevokeToken, now: datetime) -> Sequence[Fact]:
    found = [token for token in team.tokens.values() if token.id == command.token_id]
    if not found:
        raise NotFound(kind="token", name=command.token_id)
    return (e.TokenRevoked(token_id=command.token_id, seat=found[0].seat),)


def record_restore(team: Team, command: c.RecordRestore, now: datetime) -> Sequence[Fact]:
    return (e.LogRestored(backup_seq=command.backup_seq, made_at=command.made_at),)
