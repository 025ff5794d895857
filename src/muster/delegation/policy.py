"""The policy of a session's folder, where a broken file is an error with a remedy.

`permissions/policy.py` reads the file, for this and for the hooks, which deny what they cannot
judge.
"""

from pathlib import Path
from typing import Final

from muster.errors import BadSource
from muster.permissions import policy
from muster.permissions.policy import Policy, PolicyError

REMEDY: Final = "`muster permit --init --policy FILE` writes one to compare with."


def policy_of(root: Path) -> Policy:
    """The policy of a session's folder, or `BadSource` with the file and the line."""
    try:
        return policy.policy_of(root)
    except PolicyError as wrong:
        raise BadSource(path=wrong.path, what=wrong.what, remedy=REMEDY) from None
