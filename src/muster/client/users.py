"""Requests about users and their tokens.

Apart from `requests.py`, because programs that are agents never send them.
"""

from muster.client.requests import ApiRequest, api_path, given, new_key
from muster.machines.vocabulary import Role
from muster.views.answers import Recorded
from muster.views.answers.agents import NewToken, ScopeView
from muster.views.answers.users import UserList


def users() -> ApiRequest[UserList]:
    """Every user, with their roles."""
    return ApiRequest(method="GET", path=api_path("users"), answer=UserList)


def set_user(name: str, role: Role, scope: ScopeView | None = None) -> ApiRequest[Recorded]:
    """Add a user, or change the role and the scope of one; by default it is the whole team."""
    path = api_path("users", name)
    body = given(role=role, scope=scope)
    return ApiRequest(method="PUT", path=path, answer=Recorded, body=body, key=new_key())


def remove_user(name: str) -> ApiRequest[Recorded]:
    """Remove a user and their tokens."""
    return ApiRequest(method="DELETE", path=api_path("users", name), answer=Recorded)


def rotate_token(token_id: str) -> ApiRequest[NewToken]:
    """Replace the secret of a token; the new one is in the answer, this once."""
    return ApiRequest(method="POST", path=api_path("tokens", token_id, "rotate"), answer=NewToken)
