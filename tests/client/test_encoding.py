"""The JSON of requests whose text has no UTF-8 form."""

import json

import pytest

from muster.client import requests


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("café 🐙", "café 🐙"),
        ("bad \ud800 half", "bad \ufffd half"),
        ("caf\udce9", "caf\ufffd"),
        ("\ud83d\udc19", "🐙"),  # two halves that belong together
        ("end \ud83d", "end \ufffd"),
    ],
)
def test_lone_surrogates_of_a_text_are_replaced(text: str, sent: str) -> None:
    for request in (
        requests.complete("reviews", text, epoch=7),
        requests.post("reviews", text, epoch=7),
    ):
        assert json.loads(request.content) == {"epoch": 7, "message": sent}


def test_texts_are_replaced_however_deep_they_are() -> None:
    request = requests.create_channel("reviews", {"stopPhrase": "\ud800"}, members=["pm\udfff"])
    assert json.loads(request.content) == {
        "channel": "reviews",
        "config": {"stopPhrase": "\ufffd"},
        "members": ["pm\ufffd"],
    }
