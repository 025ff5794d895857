"""Parsers of sed and awk programs: which files they write, and whether they run commands.

Both parse no more than that needs; an ambiguous or malformed program raises `NotUnderstood`.
"""

from __future__ import annotations

from muster.permissions.programs.catalogue import named
from muster.permissions.shell.words import NotUnderstood

_SED_PLAIN = frozenset("=dDgGhHnNpPxzF")
_SED_FLAGS = frozenset("gpiImM0123456789")
_REGEX_AFTER = frozenset(("print", "printf", "return", "in", "else", "do", "if", "while"))
_AWK_PAIRS = frozenset(
    ("||", "&&", ">>", "|&", "++", "--", ">=", "<=", "==", "!=", "+=", "-=", "*=")
)
_AWK_AMBIGUOUS = named(
    """getline length exit delete case default next nextfile break continue switch or and xor compl
    BEGINFILE ENDFILE"""
)
"""Words after which implementations read a slash in two ways."""
_AWK_OPERANDS = ("word", "number", "string", "regex")

SCRIPT_CHARS_MAX = 8192
"""Far more than people type. The parsers look ahead, which is slow in long scripts."""


def _check_size(script: str) -> None:
    if len(script) > SCRIPT_CHARS_MAX:
        raise NotUnderstood("a script is too long")


# ── sed ───────────────────────────────────────────────────────────────────────────────────────────


class _Sed:
    """Parses a sed script, command by command."""

    def __init__(self, script: str) -> None:
        self.text = script
        self.at = 0
        self.writes: list[str] = []

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip(self, chars: str) -> None:
        while self.peek() and self.peek() in chars:
            self.at += 1

    def read(self) -> None:
        while True:
            self.skip(" \t\n;")
            if not self.peek():
                return
            self.addresses()
            self.command()

    def addresses(self) -> None:
        while True:
            self.skip(" \t")
            char = self.peek()
            if char == "/":
                self.at += 1
                self.delimited("/")
            elif char == "\\":
                self.at += 2
                self.delimited(self.text[self.at - 1 : self.at])
            elif char and char in "0123456789$,+~!IM":
                self.at += 1
            else:
                return

    def delimited(self, close: str) -> None:
        """Skip a regular expression or a replacement, including its closing delimiter."""
        if close in ("", "\n", "\\"):
            raise NotUnderstood("a sed script cannot be parsed")
        while self.peek() != close:
            if self.peek() in ("", "\n") or (self.peek() == "[" and close in "[]"):
                raise NotUnderstood("a sed script cannot be parsed")
            if self.peek() == "[" and self.in_brackets(close):
                raise NotUnderstood("a sed script is ambiguous")
            if self.text.startswith("\\\n", self.at):
                raise NotUnderstood("a sed script is ambiguous")
            self.at += 2 if self.peek() == "\\" else 1
        self.at += 1

    def in_brackets(self, close: str) -> bool:
        """Whether the delimiter is inside a bracket expression, where implementations differ."""
        end = self.text.find("]", self.at + 2)
        return (
            end > 0 and close in self.text[self.at : end] and "\n" not in self.text[self.at : end]
        )

    def command(self) -> None:
        char = self.peek()
        self.at += 1
        if char == "" or char in _SED_PLAIN or char in "{}":
            self.end(char)
        elif char == "s":
            self.substitute()
        elif char == "y":
            self.delimited_twice()
            self.end(char)
        elif char in "aic":
            self.text_lines()
        elif char in "rR#":
            self.line()
        elif char in "wW":
            self.writes.append(self.line())
        elif char in "btT:":
            self.label(char)
        elif char in "qQlL":
            self.skip(" \t")
            self.skip("0123456789")
            self.end(char)
        else:
            raise NotUnderstood("a sed script runs commands, or cannot be parsed", "run")

    def end(self, char: str) -> None:
        """Only a separator may follow."""
        self.skip(" \t")
        if char not in ("{", "}") and self.peek() not in ("", ";", "\n", "}", "#"):
            raise NotUnderstood("a sed script cannot be parsed")

    def delimited_twice(self) -> None:
        close = self.peek()
        self.at += 1
        self.delimited(close)
        self.delimited(close)

    def substitute(self) -> None:
        self.delimited_twice()
        while self.peek() and self.peek() in _SED_FLAGS:
            self.at += 1
        if self.peek() == "e":
            raise NotUnderstood("a sed script runs commands", "run")
        if self.peek() == "w":
            self.at += 1
            self.writes.append(self.line())
            return
        self.end("s")

    def label(self, char: str) -> None:
        """A label of letters and digits, and then a separator.

        Implementations disagree about what else belongs to a label: GNU ends it at a blank, others
        at the end of the line, and some take a closing brace for a part of it.
        """
        self.skip(" \t")
        while self.peek() == "_" or (self.peek().isascii() and self.peek().isalnum()):
            self.at += 1
        if self.peek() == "}":
            following = self.text[self.at + 1 : self.at + 2]
            if char == ":" or following not in ("", ";", "\n", "}", " "):
                raise NotUnderstood("a label of a sed script is ambiguous")
        self.end(char)

    def line(self) -> str:
        start = self.at
        end = self.text.find("\n", start)
        self.at = len(self.text) if end < 0 else end
        return self.text[start : self.at].strip()

    def text_lines(self) -> None:
        """Skip a text; a line that ends with a backslash continues it."""
        while self.peek() not in ("", "\n"):
            self.at += 2 if self.peek() == "\\" else 1


def sed_writes(script: str) -> list[str]:
    """The files that a sed script writes; `NotUnderstood` if the script runs commands."""
    _check_size(script)
    reader = _Sed(script)
    reader.read()
    return reader.writes


# ── awk ───────────────────────────────────────────────────────────────────────────────────────────


class _Awk:
    """Splits an awk program into tokens, each with its kind and text."""

    def __init__(self, program: str) -> None:
        self.text = program
        self.at = 0
        self.tokens: list[tuple[str, str]] = []
        self._conditions: list[bool] = []
        """For every open parenthesis: whether it holds the condition of a statement."""
        self._after_condition = False

    def read(self) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "\\" and self.text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                token = self.token(char)
                self.note(token)
                self.tokens.append(token)

    def note(self, token: tuple[str, str]) -> None:
        """Remember whether a condition ends here: a slash after it begins a pattern."""
        self._after_condition = False
        if token == ("sign", "("):
            before = self.tokens[-1][1] if self.tokens else ""
            self._conditions.append(before in ("if", "while", "for", "switch"))
        elif token == ("sign", ")") and self._conditions:
            self._after_condition = self._conditions.pop()

    def token(self, char: str) -> tuple[str, str]:
        if char == '"':
            return ("string", self.until('"'))
        if char == "/" and self.is_regex():
            return ("regex", self.until("/"))
        if char == "_" or (char.isascii() and char.isalpha()):
            return ("word", self.run(letters=True))
        if char.isdecimal() or (char == "." and self.text[self.at + 1 : self.at + 2].isdecimal()):
            return ("number", self.run(letters=False))
        pair = self.text[self.at : self.at + 2]
        if pair in _AWK_PAIRS:
            self.at += 2
            return ("sign", pair)
        self.at += 1
        return ("sign", char)

    def run(self, *, letters: bool) -> str:
        """A word, or the digits of a number; letters after a number begin a new word."""
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            part = char.isascii() and (char.isalnum() or char == "_") if letters else False
            if not part and not (not letters and (char == "." or char in "0123456789")):
                break
            self.at += 1
        return self.text[start : self.at]

    def is_regex(self) -> bool:
        if not self.tokens:
            return True
        kind, text = self.tokens[-1]
        if text in ("++", "--", "$") or text in _AWK_AMBIGUOUS or self._after_condition:
            raise NotUnderstood("an awk program is ambiguous")
        if kind in _AWK_OPERANDS:
            return kind == "word" and text in _REGEX_AFTER
        return text not in (")", "]")

    def until(self, close: str) -> str:
        start = self.at = self.at + 1
        while self.at < len(self.text) and self.text[self.at] not in (close, "\n"):
            if close == "/" and self.text[self.at] == "[":
                self.brackets()
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text) or self.text[self.at] != close:
            raise NotUnderstood("an awk program cannot be parsed")
        self.at += 1
        return self.text[start : self.at - 1]

    def brackets(self) -> None:
        """Refuse a slash in a bracket expression: awk implementations differ."""
        end = self.text.find("]", self.at + 2)
        if end > 0 and "/" in self.text[self.at : end]:
            raise NotUnderstood("an awk program is ambiguous")


def awk_writes(program: str) -> list[str]:
    """The files that an awk program writes; `NotUnderstood` if the program runs commands."""
    _check_size(program)
    if "system" in program:  # even inside a string
        raise NotUnderstood("an awk program runs commands", "run")
    reader = _Awk(program)
    reader.read()
    tokens, writes = reader.tokens, list[str]()
    printing = depth = 0
    for index, (kind, text) in enumerate(tokens):
        if kind == "word":
            _refuse_calls(text)
            if text in ("print", "printf"):
                printing, depth = 1, 0
        elif kind == "sign":
            if text in ("|", "|&", "@"):
                raise NotUnderstood("an awk program runs commands", "run")
            depth += (text in "([") - (text in ")]")
            if printing and depth <= 0 and text in (">", ">>"):
                writes.append(_target(tokens, index))
            if text in (";", "}") or (text == "\n" and depth <= 0 and _ends(tokens[index - 1])):
                printing = 0
    return writes


def _ends(token: tuple[str, str]) -> bool:
    """Whether a newline after this token ends a statement, in every implementation."""
    kind, text = token
    if kind == "word":
        return text not in ("do", "else")
    return kind in _AWK_OPERANDS or text in (")", "]", "++", "--", "}", ";", "\n")


def _refuse_calls(word: str) -> None:
    if word in ("function", "func", "load", "include", "namespace"):
        raise NotUnderstood("an awk program defines its own commands", "run")


def _target(tokens: list[tuple[str, str]], index: int) -> str:
    """The file that a print statement is redirected to: a single string literal."""
    kind, text = tokens[index + 1] if index + 1 < len(tokens) else ("", "")
    after = tokens[index + 2][1] if index + 2 < len(tokens) else "}"
    if kind != "string" or "\\" in text or after not in (";", "\n", "}"):
        raise NotUnderstood("an awk program writes to a file that is only known at run time")
    return text
