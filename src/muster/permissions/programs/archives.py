"""Archivers and compressors, as long as they only list or print."""

from __future__ import annotations

from muster.permissions.shell.effects import Scene
from muster.permissions.shell.words import NotUnderstood, ShellWord

_TAR = frozenset("tvfzjJa")
_UNZIP = frozenset("lvpqtZ1")
_COMPRESSORS = {
    "gzip": "lvcdtk",
    "gunzip": "lvctk",
    "bunzip2": "ctvk",
    "bzip2": "cdtvk",
    "xz": "lcdtvk",
    "unxz": "lctvk",
}
"""Compressors, and the known letters of each."""


def tar(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`tar`, as long as it only lists. An archive with a colon is on another machine."""
    if any(":" in word.text for word in args):
        raise NotUnderstood("an archive on another machine is fetched by other programs")
    letters = ""
    for index, word in enumerate(args):
        if index == 0 or scene.may_be_option(word):
            letters += _letters(word, longs={"--list": "t"})
    scene.execute("list" if "t" in letters and set(letters) <= _TAR else "change", name)


def unzip(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`unzip -l` and the like. After the archive, a word with a dash is the name of a member."""
    letters, rest = "", list(reversed(args))
    while rest and scene.may_be_option(rest[-1]):
        letters += _letters(rest.pop())
    looks = bool(set(letters) & set("lpvtZ")) and set(letters) <= _UNZIP
    if any(map(scene.may_be_option, rest)):
        raise NotUnderstood("an option after the archive may be the name of a member", "option")
    scene.execute("list" if looks else "change", name)


def zipinfo(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`zipinfo` only lists."""
    letters = "".join(_letters(word) for word in args if scene.may_be_option(word))
    scene.execute("list" if set(letters) <= set("1lmsvhtz") else "change", name)


def compressor(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """A compressor that prints (`-c`), or lists or tests. The last of `-d`, `-l`, `-t` wins."""
    letters = "".join(_letters(word) for word in args if scene.may_be_option(word))
    prints = "c" in letters
    inspects = bool(set(letters) & set("lt")) and "d" not in letters
    known = set(letters) <= set(_COMPRESSORS[name])
    scene.execute("read" if known and (prints or inspects) else "change", name)


def _letters(word: ShellWord, longs: dict[str, str] | None = None) -> str:
    """The letters of an option."""
    text = (longs or {}).get(word.text, word.text)
    if not word.plain or text.startswith("--"):
        raise NotUnderstood(f"the effect of {word.raw} is unknown", "option")
    return text.removeprefix("-")


HANDLERS = {
    "tar": tar,
    "unzip": unzip,
    "zipinfo": zipinfo,
    **dict.fromkeys(_COMPRESSORS, compressor),
}
