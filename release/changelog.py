"""Join the fragments in `changes/` into a section of CHANGELOG.md: `make changelog`.

Each fragment is removed once its text is in the changelog. `changes/README.md` stays.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

TITLE = "# Changelog"
ROOT = Path(__file__).parents[1]


def with_section(changelog: str, version: str, date: str, fragments: Sequence[str]) -> str:
    """The changelog with a section for a version, above those of earlier versions."""
    if f"\n## {version} " in changelog:
        raise ValueError(f"{version} has a section already. Raise the version in version.py.")
    if not fragments:
        raise ValueError("There are no fragments in changes/: nothing changed for users.")
    earlier = changelog.removeprefix(TITLE).strip()
    section = "\n\n".join((f"## {version} ({date})", *(each.strip() for each in fragments)))
    return "\n\n".join(part for part in (TITLE, section, earlier) if part) + "\n"


def main(version: str, date: str) -> None:
    """Write the section, and remove the fragments."""
    changelog = ROOT / "CHANGELOG.md"
    fragments = [path for path in sorted((ROOT / "changes").glob("*.md")) if path.stem != "README"]
    before = changelog.read_text(encoding="utf-8") if changelog.exists() else ""
    texts = [path.read_text(encoding="utf-8") for path in fragments]
    try:
        after = with_section(before, version, date, texts)
    except ValueError as error:
        sys.exit(str(error))
    changelog.write_text(after, encoding="utf-8")
    for path in fragments:
        path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
