"""The grammar of shell commands: finds every simple command of a line.

The judge need not know which branch is taken: every command that may run counts. So the result is
flat: every simple command of pipelines, lists, loops, groups, subshells, substitutions and
here-documents, in source order. Definitions of new commands (functions, `coproc`) and ambiguous
syntax raise `NotUnderstood`.
"""

from __future__ import annotations

from muster.permissions.shell.simple import (
    Here,
    Redirect,
    Simple,
    assigned_name,
    assigned_value,
    is_identifier,
)
from muster.permissions.shell.words import META, Lexer, NotUnderstood, ShellWord

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND_CHARS_MAX = 128 * 1024
"""Linux passes no longer argument to a program, so no shell could be started with it."""

COMMANDS_MAX = 1000
"""Commands, and redirections, of one line; a longer line is refused."""

_CONTROL = frozenset(map(chr, range(32))) - {"\t", "\n"} | {"\x7f"}
_OPERATORS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">")
_ENDS = frozenset(("then", "fi", "do", "done", "else", "elif", "esac", "}"))
_COMPARISONS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"))
_KEYWORD_CHARS_MAX = 9


class Parser(Lexer):
    """Parses a whole command line into its simple commands."""

    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self.found: list[Simple] = []
        self._pending: list[Here] = []
        self._loops = 0

    def read(self) -> None:
        """Parse the whole text."""
        if len(self.text) > COMMAND_CHARS_MAX:
            raise NotUnderstood("it is too long")
        if not self.text.isprintable() and any(char in self.text for char in _CONTROL):
            raise NotUnderstood("the command contains control characters")
        self._commands(frozenset(("",)))
        if self._pending:
            raise NotUnderstood("a here-document is not closed")

    # ── what words ask for ────────────────────────────────────────────────────────────────────────

    def nested(self, close: str) -> None:
        """Parse the commands of a substitution up to its end."""
        if self._pending:
            raise NotUnderstood("a here-document and a substitution share a line")
        self._commands(frozenset((close,)))
        if self._pending:
            raise NotUnderstood("a here-document is not closed")

    def quoted_commands(self, text: str) -> None:
        """Parse the commands between backticks."""
        other = Parser(text, self.depth)
        other.read()
        self._adopt(other)

    def _adopt(self, other: Parser) -> None:
        """Add the commands of a part that was parsed separately."""
        for simple in other.found:
            simple.looped = simple.looped or self._loops > 0
        self.found += other.found
        self.arithmetic += other.arithmetic
        self.assigned += other.assigned

    # ── lists ─────────────────────────────────────────────────────────────────────────────────────

    def _commands(self, stops: frozenset[str]) -> str:
        """Parse commands until one of these keywords is in command position; return it."""
        needed = False
        while True:
            self._blanks(newlines=True)
            stop = None if needed else self._stop(stops)
            if stop is not None:
                return stop
            self._command()
            needed = self._separator()

    def _stop(self, stops: frozenset[str]) -> str | None:
        char = self.peek()
        if char in ("", ")"):
            found, size = char, len(char)
        elif char == ";" and self.peek(1) in (";", "&"):
            found, size = ";;", 3 if self.text.startswith(";;&", self.at) else 2
        else:
            found = self._keyword()
            size = len(found)
            if found not in _ENDS:
                return None
        if found not in stops:
            raise NotUnderstood(
                f"{found!r} is unexpected" if found else "the command is incomplete"
            )
        self.at += size
        return found

    def _separator(self) -> bool:
        """Skip the separator of two commands; return whether a command must follow."""
        self._blanks(newlines=False)
        char, following = self.peek(), self.peek(1)
        if char in ("", ")") or (char == ";" and following in (";", "&")):
            return False
        if char == "\n":
            self._newline()
            return False
        if char not in (";", "&", "|"):
            raise NotUnderstood(f"{char!r} is unexpected")
        double = following == char or (char == "|" and following == "&")
        self.at += 2 if double else 1
        return double or char == "|"

    def _blanks(self, *, newlines: bool) -> None:
        """Skip blanks, comments and line continuations, and optionally line ends."""
        while char := self.peek():
            if char in " \t":
                self.at += 1
            elif char == "\\" and self.peek(1) == "\n":
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = self.size if end < 0 else end
            elif char == "\n" and newlines:
                self._newline()
            else:
                return

    def _keyword(self) -> str:
        """Peek at the word at this place, if it is as short as a keyword."""
        end = self.at
        while end < self.size and self.text[end] not in META:
            end += 1
            if end - self.at > _KEYWORD_CHARS_MAX:
                return ""
        return self.text[self.at : end]

    def _expect(self, keyword: str) -> None:
        self._blanks(newlines=True)
        if self._keyword() != keyword:
            raise NotUnderstood(f"{keyword!r} is missing")
        self.at += len(keyword)

    # ── here-documents ────────────────────────────────────────────────────────────────────────────

    def _newline(self) -> None:
        self.at += 1
        waiting, self._pending = self._pending, []
        for here in waiting:
            body = self._body(here)
            here.redirect.body = ShellWord(body) if here.literal else self._expanded(body)

    def _expanded(self, body: str) -> ShellWord:
        """A here-document that is expanded."""
        word, other = ShellWord(), Parser(body, self.depth)
        self.deeper()
        other.double(word, close="")
        self._adopt(other)
        self.depth -= 1
        return word.seal(body)

    def _body(self, here: Here) -> str:
        lines: list[str] = []
        while self.at < self.size:
            end = self.text.find("\n", self.at)
            end = self.size if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, self.size)
            if here.strip:
                line = line.lstrip("\t")
            if line == here.delimiter:
                return "".join(lines)
            if not here.literal and line.endswith("\\"):
                raise NotUnderstood("a line of a here-document is continued")
            lines.append(line + "\n")
        raise NotUnderstood("a here-document is not closed")

    # ── commands ──────────────────────────────────────────────────────────────────────────────────

    def _command(self) -> None:
        if self.peek() == "(":
            self._parentheses()
            return
        keyword = self._keyword()
        read = _COMPOUNDS.get(keyword)
        if read is None:
            self._simple()
            return
        self.at += len(keyword)
        self.deeper()
        read(self)
        self.depth -= 1
        if keyword not in ("!", "time"):
            self._redirects_only()

    def _parentheses(self) -> None:
        self.deeper()
        if self.peek(1) == "(":
            self.at += 2
            self.calculation()
        else:
            self.at += 1
            self._commands(frozenset((")",)))
        self.depth -= 1
        self._redirects_only()

    def _redirects_only(self) -> None:
        """The redirections after a compound command."""
        holder = Simple(looped=self._loops > 0)
        self._blanks(newlines=False)
        while self._redirect(holder):
            self._blanks(newlines=False)
        if holder.redirects:
            self._add(holder)

    def _simple(self) -> None:
        simple = Simple(looped=self._loops > 0)
        while True:
            self._blanks(newlines=False)
            if self._redirect(simple):
                continue
            word = self.word()
            if word is None:
                break
            self._take(simple, word)
        if not (simple.words or simple.assigns or simple.redirects):
            raise NotUnderstood("a command is missing")
        self._add(simple)

    def _add(self, simple: Simple) -> None:
        self.found.append(simple)
        if len(self.found) > COMMANDS_MAX or len(simple.redirects) > COMMANDS_MAX:
            raise NotUnderstood("it is too long")

    def _take(self, simple: Simple, word: ShellWord) -> None:
        name = "" if simple.words else assigned_name(word)
        if self.peek() == "(":
            if not name or not word.raw.endswith("="):
                raise NotUnderstood(
                    "the command defines a function, or has a pattern that shells parse differently"
                )
            self._array()
            word.add_unknown(split=False)
        if word.raw[:1] == "{" and word.raw[-1:] == "}" and self.peek() in ("<", ">"):
            raise NotUnderstood("a redirection names its file by a variable")
        if name:
            value = assigned_value(word)
            simple.assigns.append((name, value))
            self.assigned.append((name, value))
        else:
            simple.words.append(word)

    def _array(self) -> None:
        self.at += 1
        self._blanks(newlines=True)
        while (item := self.word()) is not None:
            if item.raw.startswith("["):  # bash calculates a subscript, and runs what is in it
                raise NotUnderstood("an array has an item with a subscript")
            self._blanks(newlines=True)
        if self.peek() != ")":
            raise NotUnderstood("an array cannot be parsed")
        self.at += 1

    def _redirect(self, simple: Simple) -> bool:
        at = self.at
        while at < self.size and self.text[at] in "0123456789":
            at += 1
        if at >= self.size or self.text[at] not in "<>&":
            return False
        op = next((op for op in _OPERATORS if self.text.startswith(op, at)), "")
        if not op or (op[0] == "&" and at > self.at):
            return False
        if op in ("<", ">") and self.text.startswith("(", at + 1):
            if at > self.at:
                raise NotUnderstood("a pipe with a number is ambiguous")
            return False
        self.at = at + len(op)
        self._blanks(newlines=False)
        target = self.word()
        if target is None or target.raw.startswith("!") or self.peek() == "(":
            raise NotUnderstood("a redirection has no target")
        redirect = Redirect(op, target)
        simple.redirects.append(redirect)
        if op in ("<<", "<<-"):
            self._pending.append(Here(redirect, strip=op == "<<-"))
        return True

    # ── compound commands ─────────────────────────────────────────────────────────────────────────

    def read_if(self) -> None:
        """`if ... then ... elif ... then ... else ... fi`."""
        self._commands(frozenset(("then",)))
        while True:
            stop = self._commands(frozenset(("elif", "else", "fi")))
            if stop == "fi":
                return
            if stop == "else":
                self._commands(frozenset(("fi",)))
                return
            self._commands(frozenset(("then",)))

    def read_while(self) -> None:
        """`while ... do ... done`, and `until`."""
        self._loops += 1
        self._commands(frozenset(("do",)))
        self._commands(frozenset(("done",)))
        self._loops -= 1

    def read_for(self) -> None:
        """`for name in words; do ... done`, and the form that counts."""
        self._blanks(newlines=False)
        if self.text.startswith("((", self.at):
            self.at += 2
            self.calculation()
        else:
            self._for_names()
        self._blanks(newlines=False)
        if self.peek() == ";":
            self.at += 1
        self._expect("do")
        self._loops += 1
        self._commands(frozenset(("done",)))
        self._loops -= 1

    def _for_names(self) -> None:
        name = self.word()
        if name is None or not name.plain or not is_identifier(name.raw):
            raise NotUnderstood("the variable of a loop is missing")
        self._blanks(newlines=True)
        if self._keyword() != "in":
            self.assigned.append((name.text, None))
            return
        self.at += 2
        self._blanks(newlines=False)
        while (word := self.word()) is not None:
            self.assigned.append((name.text, word))
            self._blanks(newlines=False)
        self.assigned.append((name.text, ShellWord("0")))  # even with an empty list
        if self.peek() not in (";", "\n"):
            raise NotUnderstood("a loop cannot be parsed")

    def read_case(self) -> None:
        """`case word in (pattern | pattern) ... ;; esac`."""
        self._blanks(newlines=False)
        if self.word() is None:
            raise NotUnderstood("a case has no subject")
        self._expect("in")
        while True:
            self._blanks(newlines=True)
            if self._keyword() == "esac":
                self.at += 4
                return
            self._patterns()
            if self._commands(frozenset((";;", "esac"))) == "esac":
                return

    def _patterns(self) -> None:
        if self.peek() == "(":
            self.at += 1
        while True:
            self._blanks(newlines=False)
            if self.word() is None:
                raise NotUnderstood("a pattern is missing")
            self._blanks(newlines=False)
            char = self.peek()
            self.at += 1
            if char == ")":
                return
            if char != "|":
                raise NotUnderstood("a pattern cannot be parsed")

    def read_group(self) -> None:
        """`{ ...; }`."""
        self._commands(frozenset(("}",)))

    def read_test(self) -> None:
        """`[[ ... ]]`."""
        words: list[ShellWord] = []
        while True:
            self._blanks(newlines=True)
            word = self.word()
            if word is not None and word.raw == "]]":
                break
            if word is not None:
                words.append(word)
            elif self.peek() in ("", ";"):
                raise NotUnderstood("a test is not closed")
            else:
                self.at += 1
        if any(word.text in _COMPARISONS for word in words):  # these evaluate arithmetic
            raws = [word.raw.replace('"', "") for word in words]
            self.arithmetic += [raw for raw in raws if raw not in _COMPARISONS]

    def read_prefix(self) -> None:
        """`!` and `time`, before a command."""
        self._blanks(newlines=False)
        if self._keyword() == "-p":
            self.at += 2
            self._blanks(newlines=False)
        if self.peek() == "-":
            raise NotUnderstood("'time' has options that shells parse differently")
        self._command()

    def refuse(self) -> None:
        """Refuse a keyword that defines commands or starts them in the background."""
        raise NotUnderstood("the command defines commands, or starts a coprocess")


_COMPOUNDS: dict[str, Callable[[Parser], None]] = {
    "if": Parser.read_if,
    "while": Parser.read_while,
    "until": Parser.read_while,
    "for": Parser.read_for,
    "case": Parser.read_case,
    "{": Parser.read_group,
    "[[": Parser.read_test,
    "!": Parser.read_prefix,
    "time": Parser.read_prefix,
    "function": Parser.refuse,
    "coproc": Parser.refuse,
    "select": Parser.refuse,
    "foreach": Parser.refuse,
    "repeat": Parser.refuse,
}


def parse(text: str, depth: int = 0) -> Parser:
    """Parse a command line."""
    parser = Parser(text, depth)
    parser.read()
    return parser
