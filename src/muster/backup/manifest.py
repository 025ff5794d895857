"""The format of a backup: a gzipped tar file, whose first member says what follows.

    manifest.json   format, version, time, the head of the log, and every file with size and digest
    team.db         the log, as it was at one commit
    muster.toml     the settings
    files/..        attached files, under their digests
    agents/...      complete output of programs, only on request

Secrets of the server (the operator's token, sessions of browsers) are never in it.
"""

import re
from datetime import datetime
from typing import Final

import msgspec

from muster.errors import BackupInvalid
from muster.home.lock import LOG_FILE
from muster.machines.attachments import FILES_FOLDER
from muster.settings.model import SETTINGS_FILE
from muster.store.chain import LogHead, parse_head

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
MANIFEST_BYTES_MAX: Final = 64 * 1024 * 1024
"""Some 400,000 files: more attachments than a home has room for."""

_NAME: Final = re.compile(
    rf"{re.escape(LOG_FILE)}|{re.escape(SETTINGS_FILE)}|{FILES_FOLDER}/[0-9a-f]{{2}}/[0-9a-f]{{62}}"
    r"|agents/(?!\.)[^/\0]{1,255}/output\.log(\.\d{1,4})?"
)


class BackedUpFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a backup."""

    name: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of a backup."""

    format: int
    muster_version: str
    made_at: datetime
    events: int
    head: str | None
    """The head of the log, as `muster doctor --verify` prints it; none before the hash chain."""

    files: tuple[BackedUpFile, ...]

    def log_head(self) -> LogHead | None:
        """The head of the log."""
        return None if self.head is None else parse_head(self.head)


def read_manifest(content: bytes, path: str) -> Manifest:
    """Decode and check the manifest of the backup at `path`."""
    try:
        version = msgspec.json.decode(content, type=dict[str, object]).get("format")
        if version != FORMAT:
            raise BackupInvalid(path=path, detail=f"its format {version!r} is not known here")
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackupInvalid(path=path, detail=f"its manifest cannot be read: {error}") from error
    names = [each.name for each in manifest.files]
    odd = [name for name in names if not _NAME.fullmatch(name)]
    if odd or len(set(names)) != len(names) or LOG_FILE not in names:
        wrong = f"a file {odd[0]!r}" if odd else "no log, or a file twice"
        raise BackupInvalid(path=path, detail=f"its manifest names {wrong}")
    return manifest
