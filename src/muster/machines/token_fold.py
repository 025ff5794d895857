"""The fold of tokens: the state knows those that are valid, by the digests of their secrets."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import drop, put
from muster.machines.state import Team, Token


def token_issued(team: Team, event: Event, fact: e.TokenIssued) -> Team:
    token = Token(id=fact.token_id, role=fact.role, seat=fact.seat, note=fact.note)
    return replace(team, tokens=put(team.tokens, fact.digest, token))


def token_revoked(team: Team, event: Event, fact: e.TokenRevoked) -> Team:
    [digest] = [each for each, token in team.tokens.items() if token.id == fact.token_id]
    return replace(team, tokens=drop(team.tokens, digest))


def log_restored(team: Team, event: Event, fact: e.LogRestored) -> Team:
    # A token that was revoked after the backup would count again, and a reader of the lost events
    # has a cursor into another log: each of them has to sign in anew.
    return replace(team, tokens={})
