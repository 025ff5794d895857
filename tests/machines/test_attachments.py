"""Files that belong to messages: images are what their content says, whatever their name."""

import pytest

from muster.machines.attachments import is_broken_image
from muster.machines.vocabulary import AttachedFile


@pytest.mark.parametrize(
    ("name", "media_type", "is_broken"),
    [
        ("plan.png", "image/png", False),
        ("plan.png", "application/octet-stream", True),
        ("plan.txt", "text/plain; charset=utf-8", False),
    ],
)
def test_an_image_without_the_content_of_one_is_broken(
    name: str, media_type: str, is_broken: bool
) -> None:
    file = AttachedFile(name=name, digest="0" * 64, size=8, media_type=media_type)
    assert is_broken_image(file) is is_broken
