"""Builtins of the shell that change its variables or its working directory."""

from __future__ import annotations

from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.simple import assigned_value, is_identifier
from muster.permissions.shell.words import NotUnderstood, ShellWord

_COMPARISONS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_SETTINGS = frozenset(("-e", "-u", "-x", "-eu", "-ex", "-eux", "+e", "+u", "+x", "-o", "+o"))
_SETTING_NAMES = frozenset(("pipefail", "errexit", "nounset", "xtrace"))
_SHOPT_NAMES = frozenset(
    ("globstar", "nullglob", "dotglob", "nocaseglob", "failglob", "nocasematch")
)
_NUMERIC = frozenset("diouxXeEfFgGaA*")
_READ_FLAGS = "rs"
_READ_VALUED = "dnNptu"


def cd(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`cd`, `pushd` and `popd`; the directory stack is not tracked."""
    words = [word for word in args if word.text not in ("--", "-P", "-L")]
    if len(words) > 1:
        raise NotUnderstood("it has too many arguments")
    scene.go(words[0] if words and name == "cd" else None)
    scene.execute("information", name)


def test(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`test` and `[`: number comparisons and `-v` can evaluate arithmetic."""
    texts = [word.text for word in args]
    for word in args:
        if word.split and scene.may_hold_text(word.raw):
            raise unknown_value(word)  # it can expand to several words, among them an operator
    if len(args) - (name == "[") == 2 and not args[0].lead:
        raise unknown_value(args[0])
    if "-v" in texts or "-R" in texts:
        raise NotUnderstood("`-v` can run a command that is hidden in the variable's name")
    if _COMPARISONS & set(texts):
        for word in args:
            if word.text not in _COMPARISONS and word.text not in ("]", "!", "-a", "-o"):
                scene.calculate(word.raw.replace('"', ""))
    scene.execute("information", name)


def declare(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`export`, `declare`, `local` and the like: only plain assignments."""
    for word in args:
        if word.plain and word.text in ("-r", "-x", "-g", "-p"):
            continue
        variable = word.lead.partition("=")[0]
        if not is_identifier(variable) or word.split or word.brace:
            raise NotUnderstood("it declares something else than a plain variable")
        value = assigned_value(word)
        if "=" in word.lead:
            scene.assign(variable, value)
        if name == "export" or any(each.text == "-x" for each in args):
            scene.export(variable, value)
    scene.execute("information", name)


def read(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`read`: its variables can hold anything afterwards."""
    rest = list(reversed(args))
    while rest:
        word = rest.pop()
        if not word.plain:
            raise unknown_value(word)
        if word.text.startswith("-"):
            if word.text[-1] in _READ_VALUED and rest:
                rest.pop()
            if word.text[1:].strip(_READ_FLAGS + _READ_VALUED + "0123456789.") or word.text == "-":
                raise NotUnderstood(f"the effect of {word.text} is unknown", "option")
        elif not is_identifier(word.text):
            raise NotUnderstood("it reads into something that is not a variable")
        else:
            scene.assign(word.text, None)
    scene.assign("REPLY", None)
    scene.execute("information", name)


def unset(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`unset`, and `getopts`, which names its variable second."""
    for word in args[1:2] if name == "getopts" else args:
        if word.text in ("-v", "-f"):
            continue
        if not word.plain or not is_identifier(word.text):
            raise NotUnderstood("it names something that is not a variable")
        scene.assign(word.text, None)
    scene.execute("information", name)


def settings(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`set -e` and the like; options that change how commands are parsed are refused."""
    for word in args:
        if not word.plain or word.text not in _SETTINGS | _SETTING_NAMES | {"-euo", "-eo", "-uo"}:
            raise NotUnderstood("it changes how the shell parses commands")
    scene.execute("information", name)


def shopt(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`shopt`: only options that change which files a pattern matches."""
    for word in args:
        if not word.plain or word.text not in _SHOPT_NAMES | {"-s", "-u", "-q", "-p"}:
            scene.execute("run", name)
            return
    scene.execute("information", name)


def printf(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`printf`, which can assign to a variable (`-v`)."""
    if args and not (args[0].lead or args[0].plain):
        if args[0].split or len(args) > 1:
            raise unknown_value(args[0])
    elif args and args[0].lead.startswith("-v"):
        variable = args[0].text[2:] or (args[1].text if len(args) > 1 and args[1].plain else "")
        if not args[0].plain or not is_identifier(variable):
            raise NotUnderstood("it assigns to something that is not a variable")
        scene.assign(variable, None)
    elif args and _converts_numbers(args[0].text) and any("[" in word.text for word in args[1:]):
        # zsh evaluates these arguments as arithmetic
        raise NotUnderstood("an argument of a numeric conversion may hide commands")
    scene.execute("information", name)


def _converts_numbers(form: str) -> bool:
    parts = (part.lstrip("-+ #0123456789.") for part in form.split("%")[1:])
    return any(part[:1] in _NUMERIC for part in parts)


def alone(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """Commands that only print something if they have no arguments."""
    scene.execute("change" if args else "information", name)


HANDLERS = {
    "cd": cd,
    "pushd": cd,
    "popd": cd,
    "test": test,
    "[": test,
    "export": declare,
    "declare": declare,
    "typeset": declare,
    "local": declare,
    "readonly": declare,
    "read": read,
    "unset": unset,
    "getopts": unset,
    "set": settings,
    "shopt": shopt,
    "printf": printf,
    "alias": alone,
    "history": alone,
    "umask": alone,
    "mount": alone,
    "ifconfig": alone,
    "arch": alone,
    "lsmod": alone,
}
