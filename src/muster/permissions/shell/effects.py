"""The effects of a command line, as acts: programs it runs, files it writes, doubts.

`Scene` collects the acts of one command line. Programs that need more than a row in the catalogue
have a handler (`commands.py` registers them). `judge.py` decides which acts are allowed.
"""

from __future__ import annotations

import os

from muster.permissions.programs import catalogue
from muster.permissions.shell.grammar import parse
from muster.permissions.shell.numbers import is_number, may_be_text
from muster.permissions.shell.simple import Redirect, Simple
from muster.permissions.shell.words import DEPTH_MAX, NotUnderstood, ShellWord

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[["Scene", str, list[ShellWord]], None]

FOLDERS_MAX = 16
"""Working directories that are possible at one place of a line; beyond it they are unknown."""

ACTS_MAX = 2000
"""Acts of one line; a line with more is refused."""

_PIPES = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2")
)


class Act:
    """One effect of a command line."""

    __slots__ = ("about", "kind", "names", "word")

    def __init__(
        self, kind: str, about: str, names: tuple[str, ...] = (), word: ShellWord | None = None
    ) -> None:
        self.kind = kind
        """`execute`, `write`, `folder` (a new one) or `doubt`."""
        self.about = about
        """The action, the rule of a doubt, or how a file is written."""
        self.names = names
        """The program and its subcommand, or the reason of a doubt."""
        self.word = word


class Scene:
    """The analysis of a command line: its acts so far, and its possible working directories."""

    def __init__(self, cwd: str, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self.acts: list[Act] = []
        self.folders = [cwd]
        """Possible working directories; empty if they are unknown."""
        self.tainted: set[str] = set()
        """Variables to which something else than a number is assigned."""
        self.numbers: set[str] = set()
        """Variables to which numbers are assigned."""
        self.texts: list[tuple[str, list[str]]] = []
        """Programs with their arguments; texts that are no argument come with no program."""
        self._looped = False
        self._depth = 0

    # ── what handlers say ─────────────────────────────────────────────────────────────────────────

    def execute(self, action: str, *names: str) -> None:
        """Record that a program does something of this kind."""
        self.acts.append(Act("execute", action, names))

    def write(self, word: ShellWord, how: str) -> None:
        """Record that a file is written."""
        if word.process or (word.plain and word.text in _PIPES):
            return
        self._add(Act("write", how, word=word))

    def folder(self, word: ShellWord) -> None:
        """Record that a folder is created."""
        self._add(Act("folder", "write", word=word))

    def doubt(self, rule: str, why: str) -> None:
        """Record a doubt."""
        self.acts.append(Act("doubt", rule, (why,)))

    def _add(self, act: Act) -> None:
        if len(self.acts) > ACTS_MAX:
            raise NotUnderstood("it writes too many files")
        self.acts.append(act)

    # ── commands ──────────────────────────────────────────────────────────────────────────────────

    def shell(self, text: str) -> None:
        """Analyse a whole command line."""
        self._deeper()
        parser = parse(text)
        for name, value in parser.assigned:
            self.assign(name, value)
        for simple in parser.found:
            self._simple(simple)
        for calculation in parser.arithmetic:
            self.calculate(calculation)
        self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise NotUnderstood("the command is nested too deeply")

    def _simple(self, simple: Simple) -> None:
        self._looped = simple.looped
        for redirect in simple.redirects:
            self._redirect(redirect)
        if simple.words:
            for name, value in simple.assigns:
                self.export(name, value)
            self.run(simple.words)

    def run(self, words: list[ShellWord]) -> None:
        """Analyse one program with its arguments."""
        name = self._program(words[0])
        self.texts.append((name or "", [word.text for word in words[1:]]))
        if name is None:
            return
        depth = self._depth
        try:
            self._deeper()
            if len(words) == 2 and catalogue.asks_version(name, words[1].text) and words[1].plain:
                self.execute("information", name)
            else:
                self._dispatch(name, words[1:])
        except NotUnderstood as unclear:
            self.doubt(unclear.rule, f"{name}: {unclear}")
            self.execute("run", name)
        self._depth = depth

    def _program(self, word: ShellWord) -> str | None:
        """The name of the program, if it is known before run time."""
        if not word.plain:
            self.doubt("unknown-command", f"the program {word.raw!r} is only known at run time")
            return None
        folder, slash, name = word.text.rpartition("/")
        if slash and folder not in catalogue.SYSTEM_FOLDERS:
            self.execute("run", word.text)
            return None
        if slash and name in catalogue.BY_NAME:
            self.doubt("option", f"{word.text}: write {name} without its folder")
        return name

    def _dispatch(self, name: str, args: list[ShellWord]) -> None:
        handler = self._handlers.get(name)
        if handler is not None:
            handler(self, name, args)
        elif name in catalogue.HARMLESS:
            self.execute(catalogue.HARMLESS[name], name, *subcommand(args))
        else:
            action = catalogue.KNOWN.get(catalogue.family(name), "run")
            self.execute(action, name, *subcommand(args))

    # ── options ───────────────────────────────────────────────────────────────────────────────────

    def may_be_option(self, word: ShellWord) -> bool:
        """Whether a word may begin with a dash after its expansion."""
        if word.split:
            return True
        if word.lead or word.plain:
            return word.lead.startswith("-")
        if word.glob and word.known and not word.brace:
            return not self.folders or any(map(_has_dashed_name, self.folders))
        return not word.process

    # ── variables ─────────────────────────────────────────────────────────────────────────────────

    def assign(self, name: str, value: ShellWord | None) -> None:
        """Record an assignment to a variable of the shell."""
        if value is not None:
            self.texts.append(("", [value.text]))
        if value is None or not is_number(value):
            self.tainted.add(name)
            if name in catalogue.INTEGER_VARIABLES:  # assigning evaluates arithmetic
                self.doubt("calculation", f"{name} evaluates what is assigned to it")
        else:
            self.numbers.add(name)
        if catalogue.is_sensitive(name) and not _is_plain_pager(name, value):
            self.doubt("environment", f"{name} changes the behaviour of other programs")

    def export(self, name: str, value: ShellWord | None = None) -> None:
        """Record an environment variable that is set for one program."""
        if not catalogue.is_harmless(name) and not _is_plain_pager(name, value):
            self.doubt("environment", f"{name} can change the behaviour of the program")

    def calculate(self, text: str) -> None:
        """Refuse arithmetic on variables that may hold a command: shells would run it."""
        if "$(" in text or any(char in text for char in "[]'\"`\\"):
            self.doubt("calculation", f"the arithmetic expression {text!r} may hide commands")
        elif self.may_hold_text(text):
            self.doubt("calculation", f"{text!r} evaluates a variable that may hide commands")

    def may_hold_text(self, raw: str) -> bool:
        """Whether an expansion may give anything but a number."""
        return "$(" in raw or "`" in raw or may_be_text(raw, self.tainted, self.numbers)

    # ── places ────────────────────────────────────────────────────────────────────────────────────

    def go(self, word: ShellWord | None) -> None:
        """Change the working directory. `cd` can fail, so the previous one stays possible."""
        target = ShellWord("~") if word is None else word
        if not target.plain or target.text in ("-", "~") or self._looped:
            self.folders = []
            return
        there = [os.path.join(folder, target.text) for folder in self.folders]  # noqa: PTH118
        self.folders = list(dict.fromkeys(self.folders + there))
        if len(self.folders) > FOLDERS_MAX:
            self.folders = []

    def _redirect(self, redirect: Redirect) -> None:
        op, target = redirect.op, redirect.target
        if redirect.body is not None or op == "<<<":
            self.texts.append(("", [(redirect.body or target).text]))
        if op in ("<", "<<", "<<-", "<<<"):
            if op == "<" and target.lead.startswith("/dev/") and target.text != "/dev/null":
                self.doubt("redirect-device", f"{target.raw} is a device")
            return
        if op in (">&", "<&") and _is_number(target):
            return
        if op == "<&" or (op == ">&" and not _is_name(target)):  # bash expands it a second time
            self.doubt("unknown-value", f"the value of {target.raw!r} is only known at run time")
            return
        self.write(target, "redirect-write")


def subcommand(args: list[ShellWord]) -> tuple[str, ...]:
    """The subcommand of a program: its first word that is not an option."""
    for word in args[:4]:
        if word.plain and not word.text.startswith("-"):
            return (word.text,)
    return ()


def unknown_value(word: ShellWord) -> NotUnderstood:
    """The error for a word whose value matters and is only known at run time."""
    return NotUnderstood(f"the value of {word.raw!r} is only known at run time", "unknown-value")


def _has_dashed_name(folder: str) -> bool:
    try:
        return any(name.startswith("-") for name in os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return True


def _is_number(word: ShellWord) -> bool:
    digits = word.text.removesuffix("-")
    return word.plain and (word.text == "-" or (digits.isascii() and digits.isdecimal()))


def _is_name(word: ShellWord) -> bool:
    """Whether a word is a path without any character that a shell would expand."""
    safe = word.raw.replace("/", "").replace(".", "").replace("-", "").replace("_", "")
    return word.plain and safe.isascii() and safe.isalnum()


def _is_plain_pager(name: str, value: ShellWord | None) -> bool:
    """Whether a variable only switches a pager off."""
    return (
        name in catalogue.PAGERS and value is not None and value.plain and value.text in ("", "cat")
    )
