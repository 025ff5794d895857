"""The code blocks of a document, fenced and indented."""

import re
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
DOCUMENTS = ("README.md", "docs/tutorial.md", *(str(each.relative_to(ROOT)) for each in GUIDES))


class Block(NamedTuple):
    """One code block: where it is, the word behind its fence, and its text."""

    document: str
    line: int
    info: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines up to the first empty one, those that go on after a backslash joined."""
        command = self.text.strip("\n").partition("\n\n")[0]
        return re.sub(r"\\\n\s*", "", command).splitlines()


def blocks(document: str) -> list[Block]:
    """Every code block of a document, in its order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Block(document, token.map[0] + 1 if token.map else 0, token.info, token.content)
        for token in MarkdownIt().parse(text)
        if token.type in {"fence", "code_block"}
    ]
