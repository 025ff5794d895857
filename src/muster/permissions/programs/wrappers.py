"""Programs that run another program, and have the effects of that program."""

from __future__ import annotations

from muster.permissions.programs.catalogue import named
from muster.permissions.programs.options import Options, read
from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.words import NotUnderstood, ShellWord, unknown_word

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
_SHELL = Options(flags="ceux", longs="norc noprofile")
_ENV = Options(flags="i0v", valued="u", longs="ignore-environment unset= null")
_TIMEOUT = Options("v", "sk", "signal= kill-after= preserve-status foreground verbose")
_NICE = Options("0123456789", "n", "adjustment=")
_STDBUF = Options("", "ioe", "input= output= error=")
_XARGS = Options(
    "0rtx",
    "dnPLsEIa",
    "null no-run-if-empty verbose delimiter= max-args= max-procs= max-lines= arg-file= exit",
)
_WATCH = Options("dtbegcx", "n", "interval= differences no-title exec color")

_FIND_RUNS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_FIND_WRITES = frozenset(("-fprint", "-fprint0", "-fls", "-fprintf"))
_FIND_FLAGS = named(
    """-H -L -P -a -and -o -or -not ! ( ) , -print -print0 -ls -prune -quit -empty -depth -d -xdev
    -mount -follow -daystart -true -false -readable -writable -executable -nouser -nogroup
    -noleaf -warn -nowarn -x -E -X -s"""
)
_FIND_VALUED = named(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype
    -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -newermt -newerct
    -newerat -perm -user -group -uid -gid -maxdepth -mindepth -links -inum -samefile -printf
    -regextype -fstype -context -used -D -Bmin -Btime"""
)

_FD = Options(
    "HIusigaLpl0h1q",
    "tedEcjSomM",
    """hidden no-ignore unrestricted case-sensitive ignore-case glob fixed-strings absolute-path
    follow full-path list-details print0 type= extension= max-depth= min-depth= exclude= color=
    threads= size= max-results= changed-within= changed-before= regex quiet""",
)


def _inner(scene: Scene, words: list[ShellWord]) -> None:
    if words:
        scene.run(words)


def env(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`env` prints the environment, or runs a program in another one."""
    found = read(scene, args, _ENV, command=True)
    words = found.operands
    while words and "=" in words[0].lead:
        variable = words[0].lead.partition("=")[0]
        scene.export(variable)
        words = words[1:]
    if words and not words[0].plain:
        raise unknown_value(words[0])
    for word in found.values("u", "unset"):
        scene.export(word.text)
    if words:
        scene.run(words)
        if found.has("i", "ignore-environment"):
            scene.export("PATH")  # it is unset, like all others
    else:
        scene.execute("information", name)


def timeout(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`timeout SECONDS program`."""
    found = read(scene, args, _TIMEOUT, command=True)
    if not found.operands or not found.operands[0].plain:
        raise NotUnderstood("the duration is missing")
    _inner(scene, found.operands[1:])


def nice(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`nice program`."""
    _inner(scene, read(scene, args, _NICE, command=True).operands)


def stdbuf(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`stdbuf program`."""
    _inner(scene, read(scene, args, _STDBUF, command=True).operands)


def bare(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """Programs that run another and take no options: `nohup`, `setsid`, `builtin`."""
    _inner(scene, read(scene, args, Options(), command=True).operands)


def command(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`command -v name` only looks a name up; without `-v`, it runs the name."""
    found = read(scene, args, Options("vVp"), command=True)
    if found.has("v", "V"):
        scene.execute("information", name)
    else:
        _inner(scene, found.operands)


def xargs(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`xargs program`: with arguments that are only known at run time."""
    found = read(scene, args, _XARGS, command=True)
    places = [word.text for word in found.values("I")]
    words = found.operands or [ShellWord("echo")]
    if places and found.has("n", "L", "max-args", "max-lines"):
        raise NotUnderstood("-I is cancelled by another option", "option")
    if places:
        scene.run([_filled(word, places[-1]) for word in words])
    else:
        scene.run([*words, unknown_word()])


def _filled(word: ShellWord, place: str) -> ShellWord:
    """A word in which an unknown value replaces the placeholder."""
    if not place or place not in word.text:
        return word
    if not word.plain:
        return unknown_word()
    lead, _, rest = word.text.partition(place)
    filled = ShellWord()
    filled.add(lead)
    filled.add_unknown(split=False)
    filled.add(rest)
    return filled.seal(word.raw)


def find(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`find`, whose expression can run programs, write and delete."""
    rest = list(reversed(args))
    while rest:
        word = rest.pop()
        if not word.plain or word.split:
            _find_place(scene, word)
        elif word.text in _FIND_RUNS:
            _find_run(scene, rest)
        elif word.text in _FIND_WRITES:
            scene.write(rest.pop() if rest else ShellWord(), "write")
            if word.text == "-fprintf" and rest:
                rest.pop()
        elif word.text in _FIND_VALUED:
            if not rest or rest.pop().split:
                raise unknown_value(word)
        elif word.text.startswith("-") and word.text not in _FIND_FLAGS:
            _find_unknown(scene, word)
    scene.execute("search", name)


def _find_place(scene: Scene, word: ShellWord) -> None:
    """A start folder may be a pattern, as long as no expansion of it can be an action."""
    if scene.may_be_option(word):
        raise unknown_value(word)


def _find_unknown(scene: Scene, word: ShellWord) -> None:
    if word.text == "-delete":
        scene.execute("change", "find", word.text)
    elif not word.text.startswith(("-O", "-newer")):
        raise NotUnderstood(f"the effect of {word.text} is unknown", "option")


def _find_run(scene: Scene, rest: list[ShellWord]) -> None:
    words: list[ShellWord] = []
    while rest and not _ends_action(rest[-1], words):
        words.append(_found_path(rest.pop()))
    if not rest or not words:
        raise NotUnderstood("an action is incomplete")
    rest.pop()
    scene.run(words)


def _ends_action(word: ShellWord, before: list[ShellWord]) -> bool:
    """`;` ends an action, `+` only right after `{}`."""
    if not word.plain:
        return False
    return word.text == ";" or (word.text == "+" and before != [] and before[-1].raw == "{}")


def _found_path(word: ShellWord) -> ShellWord:
    """A found path begins with its start folder, so it cannot be read as an option."""
    if word.text == "{}" and word.plain:
        path = ShellWord()
        path.add("./")
        path.add_unknown(split=False)
        return path.seal(word.raw)
    return _filled(word, "{}")


def fd(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`fd`. Its options that run programs are refused without a closer look."""
    read(scene, args, _FD)
    scene.execute("search", name)


def shell(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`sh -c '...'` has the effects of its text; without `-c`, a shell runs an unseen script."""
    found = read(scene, args, _SHELL, command=True)
    if not found.has("c") or not found.operands:
        scene.execute("run", name, *(word.text for word in found.operands[:1]))
        return
    text = found.operands[0]
    if not text.known:
        raise unknown_value(text)
    for word in found.operands[1:]:
        scene.texts.append(("", [word.text]))
    scene.shell(text.text)


def watch(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`watch command` gives its words to a shell."""
    found = read(scene, args, _WATCH, command=True)
    for word in found.operands:
        if not word.plain:
            raise unknown_value(word)
    if found.operands:
        scene.shell(" ".join(word.text for word in found.operands))


def evaluate(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`eval` and `trap` turn text into commands."""
    if name == "trap" and (not args or args[0].text in ("-l", "-p")):
        scene.execute("information", name)
    else:
        scene.execute("eval", name)


def replace(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`exec` replaces the shell by a program; without one, it only redirects."""
    scene.execute("exec", name)


HANDLERS = {
    "env": env,
    "timeout": timeout,
    "gtimeout": timeout,
    "nice": nice,
    "stdbuf": stdbuf,
    "nohup": bare,
    "setsid": bare,
    "builtin": bare,
    "command": command,
    "xargs": xargs,
    "find": find,
    "fd": fd,
    "fdfind": fd,
    "watch": watch,
    "eval": evaluate,
    "trap": evaluate,
    "exec": replace,
    **dict.fromkeys(_SHELLS, shell),
}
