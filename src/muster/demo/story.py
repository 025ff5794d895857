"""The story of the demo as data: bugs that are reported, fixed and reviewed, one after another.

Each bug is a small file with a mistake, its correction, and a check that fails before and passes
after. The check really runs. Only the words, and the costs, are made up: there is no model.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from muster.demo.cast import LEAD, Character

FIXER: Final = "Otto"
REVIEWER: Final = "Ivy"
TESTER: Final = "Rusty"


class Bug(NamedTuple):
    """A bug of the story."""

    title: str
    """What somebody noticed."""

    file: str
    wrong: str
    """The lines of the file that are wrong; the rest of it is `before` and `after` them."""

    right: str
    check: str
    """A line of Python that raises an error while the bug is there."""

    review: str
    trial: str
    cost_usd: float
    tokens: int


BUGS: Final = (
    Bug(
        title="The total of three prices of 0.10 is not 0.30",
        file="prices.py",
        wrong="def total(prices):\n    return sum(prices)\n",
        right="def total(prices):\n    return sum(round(each * 100) for each in prices) / 100\n",
        check="import prices; assert prices.total([0.1, 0.1, 0.1]) == 0.3, 'not 0.3'",
        review="Cents are counted as whole numbers now, and divided once. Kind: it is short. True: "
        "say in the name that the result is in dollars. Approved.",
        trial="I added up a million prices. The total held. I did not: I will be back in a second.",
        cost_usd=0.0214,
        tokens=5_120,
    ),
    Bug(
        title="The last page of the list is missing",
        file="pages.py",
        wrong="def pages(rows, size):\n    return len(rows) // size\n",
        right="def pages(rows, size):\n    return -(-len(rows) // size)\n",
        check="import pages; assert pages.pages([1, 2, 3], 2) == 2, 'a page is missing'",
        review="Rounded up instead of down. Two minus signs are clever; math.ceil would be plain. "
        "Approved, with that remark.",
        trial="Zero rows, one row, a row too many: all pages are there.",
        cost_usd=0.0187,
        tokens=4_380,
    ),
    Bug(
        title="Names with a capital letter are listed twice",
        file="names.py",
        wrong="def unique(names):\n    return sorted(set(names))\n",
        right="def unique(names):\n"
        "    return sorted({each.casefold(): each for each in names}.values())\n",
        check="import names; assert len(names.unique(['Ada', 'ada'])) == 1, 'listed twice'",
        review="casefold instead of lower: good, that is right for ß, too. The last spelling wins; "
        "say so in a comment. Approved.",
        trial="I called it with 'ADA', 'ada' and 'Ada'. One name. I am a little disappointed.",
        cost_usd=0.0243,
        tokens=5_890,
    ),
    Bug(
        title="The retry gives up before it has tried once",
        file="retry.py",
        wrong="def attempts(most):\n    return list(range(1, most))\n",
        right="def attempts(most):\n    return list(range(1, most + 1))\n",
        check="import retry; assert retry.attempts(1) == [1], 'it never tried'",
        review="An off-by-one, fixed where it was made. The check covers the edge. Approved.",
        trial="It tried as often as it may, and not once more. I know about retries.",
        cost_usd=0.0161,
        tokens=3_940,
    ),
)

COMMAND: Final = "rm -rf build"
"""The dangerous command of each fix: a person is asked before it runs."""


def bug_number(number: int) -> Bug:
    """The bug of a chapter. After the last one the first comes back."""
    return BUGS[number % len(BUGS)]


def bug_in(text: str) -> Bug | None:
    """The bug that a text is about: it names the file."""
    return next((bug for bug in BUGS if bug.file in text), None)


def report(bug: Bug) -> str:
    """The message that reports a bug."""
    return f"Bug: {bug.title} ({bug.file}). @{LEAD.name}, who takes it?"


def request(bug: Bug) -> str:
    """The task that the lead delegates."""
    return f"Fix {bug.file}: {bug.title[0].lower()}{bug.title[1:]}."


def call_for_review(bug: Bug) -> str:
    """The message that asks for a review."""
    return f"{bug.file} is fixed. @{REVIEWER}, please review it; @{TESTER}, try to break it."


def line_of(character: Character, text: str) -> str | None:
    """The line of a character about a bug, if the message is about one."""
    bug = bug_in(text)
    if bug is None:
        return None
    lines: Mapping[str, str] = {
        LEAD.name: f"{FIXER} builds things, so {bug.file} is his. I delegate it: see Tasks.",
        REVIEWER: f"I have read {bug.file}. {bug.review}",
        TESTER: bug.trial,
    }
    return lines.get(character.name)
