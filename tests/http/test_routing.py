"""Declaring a route on its handler: what is read from the signature, and which mistakes raise."""

from typing import NewType

import msgspec
import pytest
from starlette.responses import Response

from muster.errors import NotFound, WrongMethod
from muster.http.route_table import RouteTable
from muster.http.routing import (
    EVERYBODY,
    OPERATOR,
    ApiCall,
    JsonResponse,
    Route,
    route,
)
from muster.http.stream import EventStream

ThingId = NewType("ThingId", str)


class ThingBody(msgspec.Struct):
    """The body."""

    count: int = 0


class ThingQuery(msgspec.Struct):
    """The query."""

    limit: int = 1


class Thing(msgspec.Struct):
    """The answer."""

    name: str


@route("POST", "/things/{thing}", may=OPERATOR, status=201)
async def change(call: ApiCall, thing: ThingId, query: ThingQuery, body: ThingBody) -> Thing:
    """Change a thing,
    in two lines.

    What follows is for readers of the code.
    """
    return Thing(name=thing)


@route("GET", "/things/{thing}", may=EVERYBODY)
async def show(call: ApiCall, thing: str) -> Thing:
    """Show a thing."""
    return Thing(name=thing)


@route("GET", "/things/newest", may=EVERYBODY)
async def newest(call: ApiCall) -> Thing:
    """Show the newest thing."""
    return Thing(name="newest")


def test_a_route_has_its_types_from_the_signature_and_its_summary_from_the_docstring() -> None:
    assert (change.query, change.body, change.answer) == (ThingQuery, ThingBody, Thing)
    assert (change.method, change.path, change.status) == ("POST", "/things/{thing}", 201)
    assert change.summary == "Change a thing, in two lines."
    assert (show.query, show.body, show.answer) == (None, None, Thing)


def test_an_answer_with_headers_of_its_own_is_described_by_its_struct() -> None:
    @route("GET", "/cookie", public=True)
    async def cookie(call: ApiCall) -> JsonResponse[Thing]:
        """Give a thing and a cookie."""
        return JsonResponse(Thing(name="a"), {"x-a": "b"})

    assert cookie.answer is Thing
    assert cookie.is_public


def test_a_response_a_stream_and_nothing_have_no_schema() -> None:
    @route("GET", "/page", may=EVERYBODY)
    async def page(call: ApiCall) -> Response:
        """A page."""
        return Response()

    @route("GET", "/stream", may=EVERYBODY)
    async def stream(call: ApiCall) -> EventStream:
        """A stream."""
        raise NotImplementedError

    @route("GET", "/nothing", may=EVERYBODY)
    async def nothing(call: ApiCall) -> None:
        """Nothing."""

    assert [each.answer for each in (page, stream, nothing)] == [None, None, None]


def test_a_path_and_parameters_that_disagree_are_a_mistake() -> None:
    with pytest.raises(TypeError, match=r"disagree on \['name'\]"):

        @route("GET", "/things/{name}", may=EVERYBODY)
        async def forgets(call: ApiCall) -> Thing:  # pyright: ignore[reportUnusedFunction]
            """Forget the name."""
            return Thing(name="a")

    with pytest.raises(TypeError, match=r"disagree on \['colour'\]"):

        @route("GET", "/things", may=EVERYBODY)
        async def invents(call: ApiCall, colour: str) -> Thing:  # pyright: ignore[reportUnusedFunction]
            """Invent a colour."""
            return Thing(name=colour)


def test_a_segment_of_a_path_that_is_no_text_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="a segment of a path is text"):

        @route("GET", "/things/{number}", may=EVERYBODY)
        async def counts(call: ApiCall, number: int) -> Thing:  # pyright: ignore[reportUnusedFunction]
            """Count."""
            return Thing(name=str(number))


def test_a_body_that_is_no_struct_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="are structs"):

        @route("POST", "/things", may=EVERYBODY)
        async def takes_text(call: ApiCall, body: str) -> Thing:  # pyright: ignore[reportUnusedFunction]
            """Take text."""
            return Thing(name=body)


def test_a_route_says_who_may_call_it_or_that_it_is_public_and_never_both() -> None:
    with pytest.raises(TypeError, match="say who may call it"):
        route("GET", "/things")
    with pytest.raises(TypeError, match="say who may call it"):
        route("GET", "/things", may=EVERYBODY, public=True)


def _found(method: str, path: str) -> tuple[Route, dict[str, str]]:
    return RouteTable([change, show, newest]).find(method, path)


def test_a_word_of_a_path_is_preferred_to_a_name() -> None:
    assert _found("GET", "/things/newest") == (newest, {})
    assert _found("GET", "/things/oldest") == (show, {"thing": "oldest"})


def test_a_name_may_contain_an_encoded_slash() -> None:
    assert _found("GET", "/things/a%2Fb%20c") == (show, {"thing": "a/b c"})


def test_a_word_of_one_route_is_a_name_for_another_method() -> None:
    assert _found("POST", "/things/newest") == (change, {"thing": "newest"})


def test_head_is_answered_by_the_route_of_get_alone() -> None:
    assert _found("HEAD", "/things/a") == (show, {"thing": "a"})


def test_a_wrong_method_is_told_the_methods_of_the_path_and_an_unknown_path_nothing() -> None:
    with pytest.raises(WrongMethod, match=r"it takes GET, POST"):
        _found("PATCH", "/things/a")
    with pytest.raises(NotFound):
        _found("GET", "/things/a/b")
