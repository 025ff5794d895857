"""What a command line does, as acts: programs it runs, files it writes, what is not clear.

`Scene` gathers the acts of one command line. Programs that need more than a row in the catalogue
have a handler (`commands.py` knows them all). Nothing here decides: `judge.py` does.
"""

from __future__ import annotations

import os

from muster.permissions.programs import catalogue
from muster.permissions.shell.grammar import parse
from muster.permissions.shell.simple import Redirect, Simple
from muster.permissions.shell.words import DEPTH_MAX, NotUnderstood, ShellWord

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[["Scene", str, list[ShellWord]], None]

FOLDERS_MAX = 16
"""In how many folders a command may be at the same place of a line."""

ACTS_MAX = 2000
"""How many acts of a line are looked at."""

_PIPES = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2")
)


class Act:
    """One thing that a command line does."""

    __slots__ = ("about", "kind", "names", "word")

    def __init__(
        self, kind: str, about: str, names: tuple[str, ...] = (), word: ShellWord | None = None
    ) -> None:
        self.kind = kind
        """`execute`, `write`, `folder` (a new one) or `doubt`."""
        self.about = about
        """The action, or the rule of the doubt, or how a file is written."""
        self.names = names
        """The program and what it is asked for, or why there is a doubt."""
        self.word = word


class Scene:
    """A command line as it is looked at: what it does so far, and where it may be."""

    def __init__(self, cwd: str, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self.acts: list[Act] = []
        self.folders = [cwd]
        """Where commands may run; empty if that is not known."""
        self.tainted: set[str] = set()
        """Variables that may hold something else than a number."""
        self.texts: list[str] = []
        self._looped = False
        self._depth = 0

    # ── what handlers say ─────────────────────────────────────────────────────────────────────────

    def execute(self, action: str, *names: str) -> None:
        """A program does something of this kind."""
        self.acts.append(Act("execute", action, names))

    def write(self, word: ShellWord, how: str) -> None:
        """A file is written."""
        if word.process or (word.plain and word.text in _PIPES):
            return
        self._add(Act("write", how, word=word))

    def folder(self, word: ShellWord) -> None:
        """A folder is made."""
        self._add(Act("folder", "write", word=word))

    def doubt(self, rule: str, why: str) -> None:
        """Something is not clear."""
        self.acts.append(Act("doubt", rule, (why,)))

    def _add(self, act: Act) -> None:
        if len(self.acts) > ACTS_MAX:
            raise NotUnderstood("it writes too many files")
        self.acts.append(act)

    # ── commands ──────────────────────────────────────────────────────────────────────────────────

    def shell(self, text: str) -> None:
        """Look at a whole command line."""
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
            raise NotUnderstood("it is nested too deeply")

    def _simple(self, simple: Simple) -> None:
        self._looped = simple.looped
        for redirect in simple.redirects:
            self._redirect(redirect)
        if simple.words:
            for name, _ in simple.assigns:
                self.export(name)
            self.run(simple.words)

    def run(self, words: list[ShellWord]) -> None:
        """Look at one program with its arguments."""
        self.texts += [word.text for word in words]
        name = self._program(words[0])
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
        """The name of the program, if a word certainly names one."""
        if not word.plain:
            self.doubt("unknown-command", f"which program {word.raw!r} is, is decided at run time")
            return None
        folder, slash, name = word.text.rpartition("/")
        if slash and folder not in catalogue.SYSTEM_FOLDERS:
            self.execute("run", word.text)
            return None
        return name

    def _dispatch(self, name: str, args: list[ShellWord]) -> None:
        handler = self._handlers.get(name)
        if handler is not None:
            handler(self, name, args)
        elif name in catalogue.HARMLESS:
            self.execute(catalogue.HARMLESS[name], name, *subcommand(args))
        elif name in catalogue.GUARDED:
            action, letters, longs = catalogue.GUARDED[name]
            self.refuse_options(args, letters, longs)
            self.execute(action, name, *subcommand(args))
        else:
            action = catalogue.KNOWN.get(catalogue.family(name), "run")
            self.execute(action, name, *subcommand(args))

    # ── options ───────────────────────────────────────────────────────────────────────────────────

    def may_be_option(self, word: ShellWord) -> bool:
        """Whether a word may begin with a dash when it is used."""
        if word.split:
            return True
        if word.lead or word.plain:
            return word.lead.startswith("-")
        if word.glob and word.known and not word.brace:
            return not self.folders or any(map(_has_dashed_name, self.folders))
        return not word.process

    def refuse_options(self, args: list[ShellWord], letters: str, longs: tuple[str, ...]) -> None:
        """Refuse these options, also where they are shortened, joined or not known."""
        for word in args:
            if word.text.startswith("+") and "+" in letters:
                raise NotUnderstood(f"{word.text} makes it run something", "option")
            if not self.may_be_option(word):
                continue
            if word.split or word.brace or (not word.plain and "=" not in word.lead):
                raise unknown_value(word)
            if word.text == "--":
                return
            if _is_among(word.text, letters, longs):
                raise NotUnderstood(f"{word.text} makes it write or run something", "option")

    # ── variables ─────────────────────────────────────────────────────────────────────────────────

    def assign(self, name: str, value: ShellWord | None) -> None:
        """A variable of the shell gets a value."""
        if value is None or not value.plain or not value.text.isdecimal():
            self.tainted.add(name)
        if catalogue.is_sensitive(name):
            self.doubt("environment", f"{name} changes what other programs do")

    def export(self, name: str) -> None:
        """A variable is handed to a program."""
        if not catalogue.is_harmless(name):
            self.doubt("environment", f"{name} may change what the program does")

    def calculate(self, text: str) -> None:
        """Shells calculate with what variables hold, and run commands that are hidden in it."""
        if "$(" in text or any(char in text for char in "[]'\"`\\"):
            self.doubt("calculation", f"the calculation {text!r} may hide commands")
        elif self.may_hold_text(text):
            self.doubt("calculation", f"{text!r} calculates with something that may hide commands")

    def may_hold_text(self, raw: str) -> bool:
        """Whether an expansion may give something else than a number of the environment."""
        return "$(" in raw or "`" in raw or not self.tainted.isdisjoint(_names_in(raw))

    # ── places ────────────────────────────────────────────────────────────────────────────────────

    def go(self, word: ShellWord | None) -> None:
        """Change the folder. It may fail, so where the command was before stays possible."""
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
        if redirect.body is not None:
            self.texts.append(redirect.body.text)
        if op in ("<", "<<", "<<-", "<<<"):
            if op == "<" and target.lead.startswith("/dev/") and target.text != "/dev/null":
                self.doubt("redirect-device", f"{target.raw} is a device")
            return
        if op in (">&", "<&") and _is_number(target):
            return
        if op == "<&" or (op == ">&" and not _is_name(target)):  # bash expands its quotes again
            self.doubt("unknown-value", f"what {target.raw!r} becomes is decided at run time")
            return
        self.write(target, "redirect-write")


def subcommand(args: list[ShellWord]) -> tuple[str, ...]:
    """What a program is asked for: its first word that is no option."""
    for word in args[:4]:
        if word.plain and not word.text.startswith("-"):
            return (word.text,)
    return ()


def unknown_value(word: ShellWord) -> NotUnderstood:
    """What to raise for a word that matters and is not known."""
    return NotUnderstood(f"what {word.raw!r} becomes is decided at run time", "unknown-value")


def _has_dashed_name(folder: str) -> bool:
    try:
        return any(name.startswith("-") for name in os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return True


def _is_among(text: str, letters: str, longs: tuple[str, ...]) -> bool:
    if text.startswith("--"):
        name = text[2:].partition("=")[0]
        return any(
            long.startswith(name) or (name.startswith(long) and long[-1] == "-") for long in longs
        )
    return any(letter in text[1:] for letter in letters)


def _is_number(word: ShellWord) -> bool:
    digits = word.text.removesuffix("-")
    return word.plain and (word.text == "-" or (digits.isascii() and digits.isdecimal()))


def _is_name(word: ShellWord) -> bool:
    """Whether a word is a path without anything that a shell would look at."""
    safe = word.raw.replace("/", "").replace(".", "").replace("-", "").replace("_", "")
    return word.plain and safe.isascii() and safe.isalnum()


def _names_in(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
