"""Users: people who take part under names of their own, each with a role.

The human of the team is no user: muster starts with their name, and `operator.token` is theirs. A
token of a user grants what its own role and the user's role both permit.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from muster.errors import Invalid, NameReserved, NotFound
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.access.scopes import check_new_scope, narrowed
from muster.machines.events import Fact
from muster.machines.ids import name_key
from muster.machines.names import check_human_name, is_reserved, seat_called
from muster.machines.state import Team, Token, User
from muster.machines.vocabulary import Role

PEOPLE_ROLES: Final = (Role.VIEWER, Role.MEMBER, Role.OPERATOR)
"""The roles of people, each with more rights than the one before."""


def set_user(team: Team, command: c.SetUser, now: datetime) -> Sequence[Fact]:
    if command.role not in PEOPLE_ROLES:
        raise Invalid(what="the role of a user", why=f"is one of {', '.join(PEOPLE_ROLES)}")
    known = team.users.get(name_key(command.name))
    if known is None:
        _check_name(team, command.name)
    name = command.name if known is None else known.name
    check_new_scope(team, command.scope, command.role)
    return (e.UserSet(name=name, role=command.role, scope=command.scope),)


def _check_name(team: Team, name: str) -> None:
    """Refuse a name that an agent, the human, or another user has, or that looks like one."""
    check_human_name(name)
    if is_reserved(team, name) or seat_called(team, name) is not None:
        raise NameReserved(name=name)


def remove_user(team: Team, command: c.RemoveUser, now: datetime) -> Sequence[Fact]:
    user = user_called(team, command.name)
    own = sorted(token.id for token in team.tokens.values() if token.user == user.name)
    return (*(e.TokenRevoked(token_id=each) for each in own), e.UserRemoved(name=user.name))


def user_called(team: Team, name: str) -> User:
    """The user with this name."""
    found = team.users.get(name_key(name))
    if found is None:
        raise NotFound(kind="user", name=name)
    return found


def lesser(one: Role, other: Role) -> Role:
    """The role of people with fewer rights."""
    return min(one, other, key=PEOPLE_ROLES.index)


def person_token(team: Team, name: str) -> Token | None:
    """The rights of a person whom somebody else signed in, as a token that is not stored.

    The human of the team is an operator.
    """
    key = name_key(name)
    user = team.users.get(key)
    if user is not None:
        return Token(id=f"user {user.name}", role=user.role, user=user.name, scope=user.scope)
    return Token(id="user", role=Role.OPERATOR) if key == name_key(team.human) else None


def in_force(team: Team, token: Token) -> Token:
    """A token with the role and the scope that it grants now: not more than its user's."""
    user = team.users.get(name_key(token.user)) if token.user else None
    if user is None:
        return token
    role, scope = lesser(token.role, user.role), narrowed(token.scope, user.scope)
    return replace(token, role=role, scope=scope)
