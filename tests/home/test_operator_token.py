"""The operator's token: a file that holds anything else counts as none."""

from pathlib import Path

import pytest

from muster.home import operator_token


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"a\nb\n", b"a b\n", b"a\rb", b"a\0b", b"\xff", '{"desired": "é"}'.encode()],
)
def test_a_content_that_no_request_can_carry_is_no_token(tmp_path: Path, content: bytes) -> None:
    """Issue 15: every verb ended with a traceback, `muster down` included."""
    path = tmp_path / operator_token.FILE
    path.write_bytes(content)
    path.chmod(0o600)
    assert operator_token.find(tmp_path) is None


def test_the_token_that_was_kept_is_found(tmp_path: Path) -> None:
    operator_token.keep(tmp_path, "muster_0a1b")
    assert operator_token.find(tmp_path) == "muster_0a1b"


def test_a_file_that_others_can_read_counts_as_none(tmp_path: Path) -> None:
    operator_token.keep(tmp_path, "muster_0a1b")
    (tmp_path / operator_token.FILE).chmod(0o644)
    assert operator_token.find(tmp_path) is None
