from datetime import UTC, datetime

from muster.machines import commands as c
from muster.machines.vocabulary import Role
from tests.machines.scene import Scene

MADE_AT = datetime(2026, 2, 4, 21, tzinfo=UTC)


def test_a_restored_log_has_no_valid_token() -> None:
    """A token that was revoked after the backup must not count again."""
    scene = Scene()
    scene.do(c.IssueToken(token_id="t", role=Role.OPERATOR, digest="d"))

    scene.do(c.RecordRestore(backup_seq=1, made_at=MADE_AT), "muster")

    assert scene.team.tokens == {}
