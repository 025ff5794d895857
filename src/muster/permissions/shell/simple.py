"""Simple commands, the result of the grammar (`grammar.py`)."""

from __future__ import annotations

from muster.permissions.shell.words import NotUnderstood, ShellWord


class Redirect:
    """A redirection: the file that a command reads or writes."""

    __slots__ = ("body", "op", "target")

    def __init__(self, op: str, target: ShellWord) -> None:
        self.op = op
        self.target = target
        self.body: ShellWord | None = None
        """The text of a here-document."""


class Simple:
    """A simple command: assignments, words, and redirections."""

    __slots__ = ("assigns", "looped", "redirects", "words")

    def __init__(self, *, looped: bool) -> None:
        self.words: list[ShellWord] = []
        self.assigns: list[tuple[str, ShellWord]] = []
        self.redirects: list[Redirect] = []
        self.looped = looped
        """Whether it may run more than once."""


class Here:
    """A here-document whose text comes after the end of the line."""

    __slots__ = ("delimiter", "literal", "redirect", "strip")

    def __init__(self, redirect: Redirect, *, strip: bool) -> None:
        word = redirect.target
        if not word.known:
            raise NotUnderstood("the delimiter of a here-document is only known at run time")
        self.redirect = redirect
        self.delimiter = word.text
        self.literal = word.raw != word.text
        self.strip = strip


def is_identifier(text: str) -> bool:
    """Whether this is a valid name of a variable."""
    return text.isascii() and text.isidentifier()


def assigned_name(word: ShellWord) -> str:
    """The variable that a word assigns to, or an empty text."""
    name, equals, _ = word.raw.partition("=")
    if not equals:
        return ""
    name = name.removesuffix("+")
    if is_identifier(name):
        return name
    if is_identifier(name.partition("[")[0]) and name.endswith("]"):
        raise NotUnderstood("the command assigns to an element of an array")
    return ""


def assigned_value(word: ShellWord) -> ShellWord:
    """The value that a word assigns, as far known as the word."""
    value = ShellWord(word.text.partition("=")[2])
    value.known, value.glob, value.brace = word.known, word.glob, word.brace
    value.raw = word.raw.partition("=")[2]
    return value
