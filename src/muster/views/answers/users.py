"""Answers about users."""

from muster.machines.vocabulary import Role
from muster.views.answers import View
from muster.views.answers.agents import ScopeView


class UserView(View, frozen=True, kw_only=True):
    """A person who takes part under a name of their own."""

    name: str
    role: Role
    tokens: int
    """How many valid tokens they have."""

    scope: ScopeView | None = None
    """The agents and channels that a member may act on; null for the whole team."""


class UserList(View, frozen=True, kw_only=True):
    """Every user."""

    users: tuple[UserView, ...]
