"""The words of a shell command: quotes, escapes and expansions of POSIX shells and bash.

A word records how far its value is known before run time: its literal text, and its literal prefix.
Commands inside a word (`$(...)`, backticks, `<(...)`) are parsed by `grammar.py`, which builds on
this module. Ambiguous syntax raises `NotUnderstood`.
"""

from __future__ import annotations

import os

META = frozenset(" \t\n|&;()<>")
_SPECIAL = META | frozenset("'\"\\$`*?[{~")
_QUOTED_SPECIAL = frozenset('"\\$`')
_PARAMETERS = "@*#?-$!"
_ESCAPES = dict(zip("ntrabfveE", "\n\t\r\a\b\f\v\x1b\x1b", strict=True))
NUMBERED = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}
"""Escapes that give the number of a character, each with its base and its most digits."""

DEPTH_MAX = 24
"""The nesting limit of commands and expansions: more than people type, and far below Python's
recursion limit."""


class NotUnderstood(Exception):
    """A command line that cannot be parsed: the reason, and the name of the rule."""

    def __init__(self, why: str, rule: str = "not-understood") -> None:
        super().__init__(why)
        self.rule = rule


class ShellWord:
    """A word of the source, and how far its value is known."""

    __slots__ = (
        *("_leading", "_parts", "brace", "glob", "known", "lead", "process", "raw", "split"),
        "text",
    )

    def __init__(self, text: str = "") -> None:
        self.raw = text
        self.text = text
        """Its literal parts."""
        self.lead = text
        """Its literal prefix."""
        self.known = True
        """Whether its whole value is known before run time."""
        self.split = False
        """Whether it can expand to any number of words."""
        self.glob = False
        self.brace = False
        self.process = False
        """Whether it is a process substitution; its command is judged separately."""
        self._parts: list[str] = []
        self._leading = -1

    @property
    def plain(self) -> bool:
        """Whether its value is exactly its text."""
        return self.known and not self.glob and not self.brace

    @property
    def begun(self) -> bool:
        """Whether anything was added, even an empty text."""
        return bool(self._parts)

    def add(self, text: str) -> None:
        """Append a literal text."""
        self._parts.append(text)

    def add_unknown(self, *, split: bool) -> None:
        """Append a part that is only known at run time."""
        self._end_lead()
        self._parts.append("")
        self.known = False
        self.split = self.split or split

    def add_pattern(self, char: str) -> None:
        """Append a character that makes the word a glob pattern."""
        self._end_lead()
        self._parts.append(char)
        self.glob = self.glob or char != "{"
        self.brace = self.brace or char == "{"

    def _end_lead(self) -> None:
        if self._leading < 0:
            self._leading = len(self._parts)

    def seal(self, raw: str) -> ShellWord:
        """Build the word."""
        self.raw = raw
        self.text = "".join(self._parts)
        self.lead = self.text if self._leading < 0 else "".join(self._parts[: self._leading])
        if raw == "[":  # the command
            self.glob, self.lead = False, raw
        return self


def unknown_word() -> ShellWord:
    """A completely unknown word; it can also expand to none or several."""
    word = ShellWord()
    word.add_unknown(split=True)
    return word.seal("")


class Lexer:
    """Parses the words of a text from left to right."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.size = len(text)
        self.at = 0
        self.depth: int = depth
        self.arithmetic: list[str] = []
        self.assigned: list[tuple[str, ShellWord | None]] = []

    def nested(self, close: str) -> None:
        """Parse the commands of a substitution up to its end."""
        raise NotImplementedError

    def quoted_commands(self, text: str) -> None:
        """Parse the commands between backticks."""
        raise NotImplementedError

    def peek(self, ahead: int = 0) -> str:
        """The character at this place, or an empty text at the end."""
        at = self.at + ahead
        return self.text[at] if at < self.size else ""

    def deeper(self) -> None:
        """Increase the nesting depth; the caller decreases it again."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise NotUnderstood("the command is nested too deeply")

    def word(self) -> ShellWord | None:
        """The next word, or None at an operator or at the end."""
        word, start = ShellWord(), self.at
        while (char := self.peek()) and (char not in META or self._is_process(char)):
            self._piece(char, word)
        return word.seal(self.text[start : self.at]) if word.begun else None

    def _is_process(self, char: str) -> bool:
        return char != "" and char in "<>" and self.peek(1) == "("

    def _piece(self, char: str, word: ShellWord) -> None:
        if char == "'":
            self._single(word)
        elif char == '"':
            self.at += 1
            word.add("")
            self.double(word, close='"')
        elif char == "\\":
            self._escape(word)
        elif char == "$":
            self._dollar(word, quoted=False)
        elif char == "`":
            self._backtick(word, quoted=False)
        elif char in "<>":
            self._process(word)
        else:
            self._bare(char, word)

    def _bare(self, char: str, word: ShellWord) -> None:
        """Literal characters, and characters of glob patterns."""
        if char == "~" and not word.begun:
            self._home(word)
        elif char in "*?[{":
            self.at += 1
            if char == "{" and not self._is_brace():
                word.add(char)
            else:
                word.add_pattern(char)
        else:
            word.add(self._run(_SPECIAL) or self._one())

    def _one(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def _run(self, stops: frozenset[str]) -> str:
        """The characters up to the next of these."""
        start = at = self.at
        text, size = self.text, self.size
        while at < size and text[at] not in stops:
            at += 1
        self.at = at
        run = text[start:at]
        if not run.isascii() and stops is _SPECIAL and any(map(str.isspace, run)):
            raise NotUnderstood("the command has a blank that shells parse differently")
        return run

    def _is_brace(self) -> bool:
        """Whether an opening brace can begin a brace expansion: `{}` and `@{1}` do not."""
        end = self.text.find("}", self.at, self.at + 64)
        inner = self.text[self.at : end] if end >= 0 else ","
        return bool(inner) and not (inner.isascii() and inner.isalnum())

    def _home(self, word: ShellWord) -> None:
        """A tilde: `~` becomes `$HOME`; `~user` is unknown."""
        self.at += 1
        if self.peek() and self.peek() != "/" and self.peek() not in META:
            word.add_unknown(split=False)
        else:
            word.add(_home_folder())

    def _single(self, word: ShellWord) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise NotUnderstood("a quote is not closed")
        word.add(self.text[self.at + 1 : end])
        self.at = end + 1

    def _escape(self, word: ShellWord) -> None:
        following = self.peek(1)
        if not following:
            raise NotUnderstood("the command ends with a backslash")
        self.at += 2
        if following != "\n":
            word.add(following)

    def double(self, word: ShellWord, close: str) -> None:
        """The text between double quotes, or of a here-document (which has no closing quote)."""
        while (char := self.peek()) != close:
            if char == "":
                raise NotUnderstood("a quote is not closed")
            if char == "\\":
                self._quoted_escape(word, close)
            elif char == "$":
                self._dollar(word, quoted=True)
            elif char == "`":
                self._backtick(word, quoted=True)
            else:
                word.add(self._run(_QUOTED_SPECIAL) or self._one())
        self.at += len(close)

    def _quoted_escape(self, word: ShellWord, close: str) -> None:
        following = self.peek(1)
        self.at += 2 if following else 1
        if following in ("$", "`", "\\") or (following and following == close):
            word.add(following)
        elif following != "\n":
            word.add("\\" + following)

    # ── what is decided at run time ───────────────────────────────────────────────────────────────

    def _dollar(self, word: ShellWord, *, quoted: bool) -> None:
        following = self.peek(1)
        if following == "\\" and self.peek(2) == "\n":
            raise NotUnderstood("an expansion continues on the next line")
        if following in ("'", '"') and not quoted:
            if following == '"':
                raise NotUnderstood("a translated string is only known at run time")
            self._ansi(word)
            return
        if following == "[":
            raise NotUnderstood("the command has arithmetic that shells parse differently")
        if following and following in "~=^+" and _is_name(self.peek(2)):
            raise NotUnderstood("the command has an expansion that shells parse differently")
        if following in ("(", "{"):
            self.deeper()
            self._expand(following)
            self.depth -= 1
        elif _is_name(following):
            self.at += 1
            if self._well_known(self._name(), word, quoted=quoted):
                return
        elif following and (following in "0123456789" or following in _PARAMETERS):
            self.at += 2
        else:
            self.at += 1
            word.add("$")
            return
        word.add_unknown(split=not quoted)

    def _well_known(self, name: str, word: ShellWord, *, quoted: bool) -> bool:
        """Whether the parameter is the home folder, like a tilde, or a path that begins with /.

        Zsh modifies a parameter before a colon (`$HOME:s,...`), so there its value is unknown.
        """
        if self.peek() == ":" and _is_name(self.peek(1)):
            return False
        if name == "HOME":
            word.add(_home_folder())
        elif name == "PWD" and quoted:
            word.add("/")
            word.add_unknown(split=False)
        else:
            return False
        return True

    def _expand(self, opening: str) -> None:
        self.at += 2
        if opening == "{":
            self._braced()
        elif self.peek() == "(":
            self.at += 1
            self.calculation()
        else:
            self.nested(")")

    def _name(self) -> str:
        start = self.at
        while _is_name(self.peek()) or (self.peek() and self.peek() in "0123456789"):
            self.at += 1
        return self.text[start : self.at]

    def _braced(self) -> None:
        """A parameter in braces; its operators can contain words, and so commands."""
        start, inner = self.at, ShellWord()
        while (char := self.peek()) != "}":
            if char in ("", "'") or self._is_process(char):
                raise NotUnderstood("an expansion cannot be parsed")
            if char in ('"', "\\", "$", "`"):
                self._piece(char, inner)
            else:
                self.at += 1
        self._parameter(self.text[start : self.at])
        self.at += 1

    def _parameter(self, inner: str) -> None:
        """Refuse expansions with side effects."""
        rest = inner
        if inner[:1] == "!":
            raise NotUnderstood("an expansion names its variable at run time")
        if inner[:1] == "#" and len(inner) > 1:
            rest = inner[1:]
        size = 0
        while size < len(rest) and (_is_name(rest[size]) or rest[size] in "0123456789"):
            size += 1
        if size == 0 and rest[:1] and rest[0] in _PARAMETERS:
            size = 1
        if size == 0:
            raise NotUnderstood("an expansion cannot be parsed")
        self._operator(rest[:size], rest[size:])

    def _operator(self, name: str, rest: str) -> None:
        if rest[:1] == "[":
            index, closed, rest = rest[1:].partition("]")
            if not closed:
                raise NotUnderstood("an expansion cannot be parsed")
            if index not in ("@", "*"):
                self.arithmetic.append(index)
        if rest[:1] == ":" and rest[1:2] not in ("-", "=", "?", "+"):
            self.arithmetic.append(rest[1:])
        elif rest[:1] == "=" or rest[:2] == ":=":
            self.assigned.append((name, None))
        elif rest and rest[0] not in ":-?+#%/^,":
            raise NotUnderstood("an expansion cannot be parsed")

    def calculation(self) -> None:
        """An arithmetic expression after its two parentheses, up to both that close it."""
        start, depth = self.at, 0
        while True:
            char = self.peek()
            if char == "":
                raise NotUnderstood("an arithmetic expression is not closed")
            if char == ")" and depth == 0:
                break
            depth += (char == "(") - (char == ")")
            self.at += 1
        if self.peek(1) != ")":
            raise NotUnderstood("the parentheses are ambiguous")
        self.arithmetic.append(self.text[start : self.at])
        self.at += 2

    def _backtick(self, word: ShellWord, *, quoted: bool) -> None:
        self.at += 1
        parts: list[str] = []
        while (char := self.peek()) != "`":
            if char == "":
                raise NotUnderstood("a backtick is not closed")
            if char == "\\" and (
                self.peek(1) in ("$", "`", "\\") or (quoted and self.peek(1) == '"')
            ):
                self.at += 1
                char = self.peek()
            parts.append(char)
            self.at += 1
        self.at += 1
        self.deeper()
        self.quoted_commands("".join(parts))
        self.depth -= 1
        word.add_unknown(split=not quoted)

    def _process(self, word: ShellWord) -> None:
        """A process substitution: `<(command)`."""
        alone = not word.begun
        self.at += 2
        self.deeper()
        self.nested(")")
        self.depth -= 1
        word.add_unknown(split=False)
        word.process = alone and (self.peek() == "" or self.peek() in META)

    def _ansi(self, word: ShellWord) -> None:
        r"""A string with escapes as in C: `$'\x41'`."""
        self.at += 2
        word.add("")
        while (char := self.peek()) != "'":
            if char == "":
                raise NotUnderstood("a quote is not closed")
            self.at += 1
            word.add(self._decoded() if char == "\\" else char)
        self.at += 1

    def _decoded(self) -> str:
        char = self.peek()
        self.at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char in ("\\", "'", '"', "?"):
            return char
        if char in NUMBERED:
            return self._numbered(*NUMBERED[char])
        if char and char in "01234567":
            self.at -= 1
            return self._numbered(8, 3)
        raise NotUnderstood("an escape cannot be parsed")

    def _numbered(self, base: int, size_max: int) -> str:
        digits = "0123456789abcdef"[:base]
        start = self.at
        while self.at - start < size_max and self.peek() and self.peek().lower() in digits:
            self.at += 1
        code = int(self.text[start : self.at] or "0", base)
        # Above 127, `\x` and octal escapes are bytes, not characters; bash takes octals modulo 256.
        if not 0 < code < 0x110000 or (code >= 128 and size_max < 4):
            raise NotUnderstood("an escape is not a character")
        return chr(code)


def _home_folder() -> str:
    return os.path.expanduser("~")  # noqa: PTH111  (pathlib costs a hook its time)


def _is_name(char: str) -> bool:
    """Whether a name may begin with this character."""
    return char == "_" or (char.isascii() and char.isalpha())
