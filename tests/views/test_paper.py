"""Files and requests that are no JSON are told what is wrong with them."""

import msgspec
import pytest

from muster.views.paper import why_not_json


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (rb'{"soul": "\ud800"}', r"\ud800 is half of a surrogate pair"),
        (b'{"soul": ', "truncated"),
        (b"soul", "malformed"),
    ],
)
def test_what_is_no_json_is_told_in_words_that_help(content: bytes, why: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(content)
    assert why in why_not_json(content, caught.value)
