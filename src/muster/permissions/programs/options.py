"""Two strict parsers of a program's options. Both know the allowed options, not the forbidden ones.

`read` makes every word an option, a value or an operand, for programs whose operands matter.
`vet` is for programs that only read: every word that may be an option must be an allowed one,
wherever it is, so that an option cannot hide as the value of another.
"""

from __future__ import annotations

from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.words import NotUnderstood, ShellWord


class Options:
    """The options of a program: letters alone, letters with a value, and long names.

    A long name ends with `=` if it has a value in the same word or the next one, with `?=` if the
    value can only be in the same word.
    """

    __slots__ = ("flags", "longs", "valued")

    def __init__(self, flags: str = "", valued: str = "", longs: str = "") -> None:
        self.flags = flags
        self.valued = valued
        self.longs = {name.rstrip("?="): name for name in longs.split()}


class Read:
    """Parsed arguments: options with their values, and operands."""

    __slots__ = ("operands", "options")

    def __init__(self) -> None:
        self.options: list[tuple[str, ShellWord | None]] = []
        self.operands: list[ShellWord] = []

    def values(self, *names: str) -> list[ShellWord]:
        """The values of an option, by any of its names."""
        return [value for name, value in self.options if name in names and value is not None]

    def has(self, *names: str) -> bool:
        """Whether an option was given, by any of its names."""
        return any(name in names for name, _ in self.options)


def read(scene: Scene, args: list[ShellWord], known: Options, *, command: bool = False) -> Read:
    """Parse all options. With `command`, the first operand begins another command."""
    found, rest = Read(), list(reversed(args))
    while rest:
        word = rest.pop()
        if not scene.may_be_option(word) or word.text == "-":
            found.operands.append(word)
            if command:
                break
        elif word.plain and word.text == "--":
            break
        elif word.text.startswith("--") and word.lead.startswith("--"):
            _long(found, word, known, rest)
        else:
            _letters(found, word, known, rest)
    found.operands += reversed(rest)
    return found


def vet(scene: Scene, args: list[ShellWord], allowed: Options) -> list[ShellWord]:
    """Refuse every option that is not allowed; return the other words.

    A value in a word of its own may not begin with a dash. `--` ends the options only where it
    cannot be the value of an option.
    """
    operands: list[ShellWord] = []
    takes_value = False
    for index, word in enumerate(args):
        if not scene.may_be_option(word) or (word.plain and word.text == "-"):
            operands.append(word)
            takes_value = False
        elif word.plain and word.text == "--":
            if not takes_value:
                return operands + args[index + 1 :]
        elif word.lead.startswith("--"):
            _vet_long(word, allowed)
            takes_value = "=" not in word.text
        else:
            takes_value = _vet_letters(word, allowed)
    return operands


def _vet_long(word: ShellWord, allowed: Options) -> None:
    if word.split or word.brace or (not word.plain and "=" not in word.lead):
        raise unknown_value(word)
    if word.text[2:].partition("=")[0] not in allowed.longs:
        raise _unknown_option(word)


def _vet_letters(word: ShellWord, allowed: Options) -> bool:
    """Check the letters of a word; return whether the last one may have its value in the next."""
    if word.split or word.brace:
        raise unknown_value(word)
    for index, letter in enumerate(word.lead[1:], 2):
        if letter in allowed.valued:
            return word.plain and index == len(word.text)
        if letter not in allowed.flags:
            raise _unknown_option(word)
    if not word.plain:
        raise unknown_value(word)
    return False


def _long(found: Read, word: ShellWord, known: Options, rest: list[ShellWord]) -> None:
    name, equals, value = word.text[2:].partition("=")
    if not word.plain and "=" not in word.lead:
        raise unknown_value(word)
    form = known.longs.get(name)
    if form is None or (equals and not form.endswith("=")):
        raise _unknown_option(word)
    if equals:
        found.options.append((name, _tail(word, value)))
    elif form.endswith("=") and not form.endswith("?="):
        found.options.append((name, _next(word, rest)))
    else:
        found.options.append((name, None))


def _letters(found: Read, word: ShellWord, known: Options, rest: list[ShellWord]) -> None:
    if not word.plain and (len(word.lead) < 2 or word.lead[1] not in known.valued or word.split):
        raise unknown_value(word)
    for index, letter in enumerate(word.text[1:], 1):
        if letter in known.valued:
            value = word.text[index + 1 :]
            taken = _tail(word, value) if value or not word.known else _next(word, rest)
            found.options.append((letter, taken))
            return
        if letter not in known.flags:
            raise _unknown_option(word)
        found.options.append((letter, None))


def _next(word: ShellWord, rest: list[ShellWord]) -> ShellWord:
    if not rest:
        raise NotUnderstood(f"{word.text} has no value")
    value = rest.pop()
    if value.split or value.brace:
        raise unknown_value(value)
    return value


def _tail(word: ShellWord, text: str) -> ShellWord:
    """The end of a word, as far known as the whole."""
    if word.split or word.brace:
        raise unknown_value(word)
    tail = ShellWord(text)
    tail.known, tail.glob, tail.raw = word.known, word.glob, word.raw
    return tail


def _unknown_option(word: ShellWord) -> NotUnderstood:
    return NotUnderstood(f"the effect of {word.text} is unknown", "option")
