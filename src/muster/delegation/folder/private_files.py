"""Files of conversations that are private: what a program says that it wrote is not always shown.

A conversation records whatever file a program names, also the operator's token.
"""

import os
from pathlib import Path

from muster.errors import Forbidden


def check_place(real: Path, top: Path, path: str, *, home: Path | None, is_operator: bool) -> None:
    """Refuse a file outside of a folder, one in muster's home, and a hidden one to non-operators.

    Outputs may lie in the home: there, only what lies above them is refused.
    """
    _refuse_if(not real.is_relative_to(top), path, "It lies outside of the project.")
    parts = real.relative_to(top).parts
    own = None if home is None else home.resolve()
    in_home = own is not None and real.is_relative_to(own) and not top.is_relative_to(own)
    _refuse_if(in_home, path, "It lies in muster's home.")
    hidden = any(part.startswith(".") for part in parts)
    _refuse_if(hidden and not is_operator, path, "Only operators see hidden files.")


def check_links(found: os.stat_result, path: str) -> None:
    """Refuse a file with a second name, which may lie anywhere."""
    _refuse_if(found.st_nlink > 1, path, "It has a second name (a hard link).")


def _refuse_if(wrong: bool, path: str, remedy: str) -> None:
    if wrong:
        raise Forbidden(who="This page", act=f"show {path!r}", remedy=remedy)
