"""The fold of tokens: the state knows those that are valid, by the digests of their secrets."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import name_key
from muster.machines.maps import drop, put
from muster.machines.state import Team, Token, User


def token_issued(team: Team, event: Event, fact: e.TokenIssued) -> Team:
    token = Token(
        id=fact.token_id,
        role=fact.role,
        seat=fact.seat,
        note=fact.note,
        user=fact.user,
        expires_at=fact.expires_at,
        scope=fact.scope,
    )
    return replace(team, tokens=put(team.tokens, fact.digest, token))


def token_revoked(team: Team, event: Event, fact: e.TokenRevoked) -> Team:
    [digest] = [each for each, token in team.tokens.items() if token.id == fact.token_id]
    return replace(team, tokens=drop(team.tokens, digest))


def token_rotated(team: Team, event: Event, fact: e.TokenRotated) -> Team:
    [(old, token)] = [each for each in team.tokens.items() if each[1].id == fact.token_id]
    return replace(team, tokens=put(drop(team.tokens, old), fact.digest, token))


def user_set(team: Team, event: Event, fact: e.UserSet) -> Team:
    user = User(name=fact.name, role=fact.role, scope=fact.scope)
    return replace(team, users=put(team.users, name_key(fact.name), user))


def user_removed(team: Team, event: Event, fact: e.UserRemoved) -> Team:
    return replace(team, users=drop(team.users, name_key(fact.name)))


def log_restored(team: Team, event: Event, fact: e.LogRestored) -> Team:
    # A token that was revoked after the backup would count again, and a reader of the lost events
    # has a cursor into another log: each of them has to sign in anew.
    return replace(team, tokens={})
