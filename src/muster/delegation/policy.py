"""The permission policy of a session's folder; a malformed file is an error with a remedy.

`permissions/policy.py` reads the file, here and for the hooks. A hook denies a call if the policy
is malformed.
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
