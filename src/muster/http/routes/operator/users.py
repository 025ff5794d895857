"""Users over HTTP: the operator adds people, changes their roles and removes them."""

from collections import Counter

from muster.http.recording import record
from muster.http.routing import OPERATOR, ApiCall, route
from muster.http.signing_in.scoping import ScopeBody, scope_in
from muster.http.types import Body
from muster.machines.commands import RemoveUser, SetUser
from muster.machines.vocabulary import Role
from muster.views.access import view_scope
from muster.views.answers import Recorded
from muster.views.answers.users import UserList, UserView


class UserBody(Body, frozen=True, kw_only=True):
    """The role of a user: operator, member or viewer."""

    role: Role
    scope: ScopeBody | None = None
    """The agents and channels that a member may act on; by default the whole team."""


@route("GET", "/api/users", may=OPERATOR)
async def list_users(call: ApiCall) -> UserList:
    """List the users, by name. The human of the team is none of them."""
    team = call.team
    tokens = Counter(token.user for token in team.tokens.values())
    views = [
        UserView(
            name=user.name,
            role=user.role,
            tokens=tokens[user.name],
            scope=view_scope(team, user.scope),
        )
        for _, user in sorted(team.users.items())
    ]
    return UserList(users=tuple(views))


@route("PUT", "/api/users/{name}", may=OPERATOR)
async def set_user(call: ApiCall, name: str, body: UserBody) -> Recorded:
    """Add a user, or change the role and the scope of one. Issue a token for a new one."""
    return await record(call, SetUser(name=name, role=body.role, scope=scope_in(call, body.scope)))


@route("DELETE", "/api/users/{name}", may=OPERATOR)
async def remove_user(call: ApiCall, name: str) -> Recorded:
    """Remove a user. Their tokens are revoked, and their browsers signed out."""
    return await record(call, RemoveUser(name=name))
