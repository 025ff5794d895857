"""Which files of a conversation are not shown."""

from pathlib import Path

import pytest

from muster.delegation.folder.private_files import check_place
from muster.errors import Forbidden


def test_nothing_of_the_home_is_shown_but_outputs_that_lie_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    token, outputs = home / "operator.token", home / "session" / "outputs"
    with pytest.raises(Forbidden, match="muster's home"):
        check_place(token, tmp_path, "home/operator.token", home=home, is_operator=True)
    check_place(outputs / "a.md", outputs, "a.md", home=home, is_operator=False)
    check_place(tmp_path / "a.md", tmp_path, "a.md", home=home, is_operator=False)
    check_place(tmp_path / ".env", tmp_path, ".env", home=None, is_operator=True)
