"""Users: people under names of their own, their roles and tokens, and tokens that expire."""

from datetime import timedelta

import msgspec
import pytest

from muster.machines import commands as c
from muster.machines.access.users import in_force, lesser, person_token
from muster.machines.kernel import deadlines
from muster.machines.vocabulary import Authority, Role
from tests.machines.scene import Scene
from tests.machines.turns.test_turns import trio


def with_ada(role: Role = Role.MEMBER) -> Scene:
    scene = trio()
    scene.do(c.SetUser(name="Ada", role=role))
    return scene


def token(scene: Scene, role: Role = Role.MEMBER, user: str = "ada") -> c.IssueToken:
    until = scene.now + timedelta(days=1)
    return c.IssueToken(token_id="t", role=role, digest="d", user=user, expires_at=until)


def test_a_user_has_a_role_that_can_be_changed_and_a_name_of_their_own() -> None:
    scene = with_ada()
    scene.do(c.SetUser(name="ADA", role=Role.VIEWER))
    assert [(user.name, user.role) for user in scene.team.users.values()] == [("Ada", Role.VIEWER)]
    for name in ("pm", "Marcus", "muster", "Ada Two"):
        scene.refuse(c.SetUser(name=name, role=Role.VIEWER), "name_reserved")
    scene.refuse(c.SetUser(name="a/b", role=Role.VIEWER), "invalid")
    scene.refuse(c.SetUser(name="Bo", role=Role.AGENT), "invalid")


def test_no_agent_takes_the_name_of_a_user() -> None:
    scene = with_ada()
    for name in ("ada", "Ada in design"):
        scene.refuse(c.EnrollAgent(name=name, authority=Authority.SELF), "name_reserved")


def test_a_token_grants_what_its_role_and_its_user_both_permit() -> None:
    scene = with_ada()
    scene.refuse(token(scene, Role.OPERATOR), "invalid")
    scene.refuse(token(scene, user="Bo"), "not_found")
    scene.do(token(scene))
    issued = scene.team.tokens["d"]
    assert (issued.user, in_force(scene.team, issued).role) == ("Ada", Role.MEMBER)
    scene.do(c.SetUser(name="Ada", role=Role.VIEWER))
    assert in_force(scene.team, issued).role is Role.VIEWER
    scene.do(c.SetUser(name="Ada", role=Role.OPERATOR))
    assert in_force(scene.team, issued).role is Role.MEMBER
    of_nobody = msgspec.structs.replace(issued, user="")
    assert in_force(scene.team, of_nobody) is of_nobody


@pytest.mark.parametrize(
    ("one", "other", "less"),
    [
        (Role.OPERATOR, Role.VIEWER, Role.VIEWER),
        (Role.MEMBER, Role.OPERATOR, Role.MEMBER),
        (Role.VIEWER, Role.MEMBER, Role.VIEWER),
    ],
)
def test_roles_of_people_are_ordered(one: Role, other: Role, less: Role) -> None:
    assert lesser(one, other) is lesser(other, one) is less


def test_a_person_whom_somebody_else_signed_in_has_the_rights_of_that_name() -> None:
    scene = with_ada()
    ada = person_token(scene.team, "ADA")
    assert ada is not None
    assert (ada.user, ada.role) == ("Ada", Role.MEMBER)
    human = person_token(scene.team, "marcus")
    assert human is not None
    assert (human.user, human.role) == ("", Role.OPERATOR)
    assert person_token(scene.team, "Bo") is None


def test_a_user_who_is_removed_has_no_tokens() -> None:
    scene = with_ada()
    scene.do(token(scene))
    scene.do(c.IssueToken(token_id="o", role=Role.OPERATOR, digest="other"))
    scene.do(c.RemoveUser(name="ada"))
    assert (list(scene.team.users), list(scene.team.tokens)) == ([], ["other"])
    scene.refuse(c.RemoveUser(name="ada"), "not_found")


def test_a_rotated_token_keeps_everything_but_its_secret() -> None:
    scene = with_ada()
    scene.do(token(scene))
    before = scene.team.tokens["d"]
    scene.refuse(c.RotateToken(token_id="t", digest="d"), "token_exists")
    scene.refuse(c.RotateToken(token_id="x", digest="n"), "not_found")
    scene.do(c.RotateToken(token_id="t", digest="n"))
    assert dict(scene.team.tokens) == {"n": before}


def test_a_token_expires_by_a_deadline_that_revokes_it() -> None:
    scene = with_ada()
    scene.do(token(scene))
    [due] = [each for each in deadlines.every(scene.team) if each.key is None]
    assert due.at == scene.now + timedelta(days=1)
    scene.do(due.command)
    assert not scene.team.tokens
    scene.do(c.IssueToken(token_id="o", role=Role.OPERATOR, digest="other"))
    assert deadlines.of(scene.team, None) is None
    late = c.IssueToken(token_id="l", role=Role.VIEWER, digest="l", expires_at=scene.now)
    scene.refuse(late, "invalid")
