"""The documentation as a site.

    make docs       # writes site/, where index.html is the first page

The pages are docs/ and the documents of the root. Links between the two differ by one step:
`../../SECURITY.md` of a guide is `../SECURITY.md` in the site, `docs/glossary.md` of a document of
the root is `glossary.md`. Other files of the repository are not in the site: a link to one becomes
its text. A link to a page or a heading that does not exist fails the build.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
PAGES: Final = ROOT / ".venv" / "site"
"""The pages as the generator reads them; zensical.toml names the same folder."""

SITE: Final = ROOT / "site"

DOCUMENTS: Final = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
"""Documents of the root that are pages."""

_LOADED: Final = re.compile(r"""(?:src=|<link[^>]* href=)["']?((?:https?:)?//[^"'\s>]+)""")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def main() -> int:
    """Build the site; returns an exit code."""
    gather(PAGES)
    build = (sys.executable, "-m", "zensical", "build", "--strict", "--clean")
    if code := subprocess.run(build, cwd=ROOT, check=False).returncode:
        return code
    if foreign := sorted(loaded_from_elsewhere(SITE)):
        print(f"The site loads files from elsewhere: {', '.join(foreign)}")
        return 1
    print("Look at it with: python -m http.server --bind 127.0.0.1 --directory site")
    return 0


def gather(folder: Path) -> None:
    """Write all pages into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    for page in folder.rglob("*.md"):
        depth = len(page.relative_to(folder).parts) - 1
        page.write_text(from_docs(page.read_text(encoding="utf-8"), depth), encoding="utf-8")
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        (folder / name).write_text(from_root(text), encoding="utf-8")


def from_docs(markdown: str, depth: int) -> str:
    """The text of a page `depth` folders below docs/, from which the root is one step nearer."""
    names = "|".join(map(re.escape, DOCUMENTS))
    root = re.compile(rf"\]\((?:\.\./){{{depth + 1}}}({names})")
    return root.sub(rf"]({'../' * depth}\1", markdown)


def from_root(markdown: str) -> str:
    """The text of a document of the root as a page; a link to another file is its text."""

    def linked(link: re.Match[str]) -> str:
        text, target = link.groups()
        if target.startswith("docs/"):
            return f"[{text}]({target.removeprefix('docs/')})"
        is_page = "://" in target or target.partition("#")[0] in ("", *DOCUMENTS)
        return link[0] if is_page else text

    return _LINK.sub(linked, markdown)


def loaded_from_elsewhere(site: Path) -> set[str]:
    """The addresses from which a browser would load a part of a page."""
    pages = (page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    return {address for page in pages for address in _LOADED.findall(page)}


if __name__ == "__main__":
    sys.exit(main())
