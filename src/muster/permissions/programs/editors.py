"""Programs that read or write, depending on their arguments: stream editors, copiers and
downloaders.
"""

from __future__ import annotations

from muster.permissions.programs.options import Options, Read, read
from muster.permissions.programs.sed_awk import awk_writes, sed_writes
from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.words import NotUnderstood, ShellWord

_SED = Options(
    "nErszu",
    "efl",
    """quiet silent expression= file= regexp-extended separate null-data unbuffered in-place?=
    line-length= posix sandbox debug""",
)
_AWK = Options("", "Fvf", "field-separator= assign=")
_TEE = Options("ai", "", "append ignore-interrupts")
_TOUCH = Options("acmh", "tdr", "no-create date= reference= time=")
_MKDIR = Options("pv", "m", "parents verbose mode=")
_CP = Options("finruvT", "", "force interactive no-clobber update verbose no-target-directory")
_TRUNCATE = Options("co", "sr", "size= reference= no-create")
_UNIQ = Options(
    "cdDuiz", "fsw", "count repeated unique ignore-case skip-fields= skip-chars= zero-terminated"
)
_XXD_FLAGS = frozenset(
    ("-b", "-E", "-e", "-i", "-p", "-ps", "-plain", "-u", "-C", "-a", "-r", "-d")
)
_XXD_VALUED = frozenset(("-c", "-l", "-g", "-s", "-o"))
_DATE = Options(
    "uRj", "dfrv", "date= utc universal iso-8601?= rfc-3339= rfc-email reference= file="
)
_HOSTNAME = Options("fiIsdA", "", "fqdn ip-address all-ip-addresses short domain")
_MAN = Options("afkw", "s", "apropos whatis all where sections=")
_CURL = Options(
    "sSfLIvikGgq46N#",
    "oHAemwbxurX",
    """silent show-error fail location head verbose include insecure get compressed max-time=
    connect-timeout= retry= header= user-agent= write-out= output= http1.1 http2 ipv4 ipv6 range=
    globoff no-buffer fail-with-body retry-delay= referer= url= request=""",
)
_WGET = Options(
    "qScvN46", "OTt", "quiet server-response spider output-document= timeout= tries= no-verbose"
)


def _files(scene: Scene, words: list[ShellWord], how: str = "write") -> None:
    for word in words:
        scene.write(word, how)


def sed(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`sed`: its script can write files and run commands, and `-i` writes its operands."""
    words, suffixes = _without_in_place(args)
    found = read(scene, words, _SED)
    if found.has("f", "file"):
        raise NotUnderstood("its script is in a file")
    suffixes += [word.text for word in found.values("in-place")]
    in_place = bool(suffixes) or found.has("in-place")
    if any("*" in suffix or "/" in suffix for suffix in suffixes):
        raise NotUnderstood("the suffix of the copy names another file", "option")
    files, scripts = _scripts(found, ("e", "expression"), in_place=in_place)
    for target in sed_writes("\n".join(scripts)):
        scene.write(ShellWord(target), "write")
    if in_place:
        _files(scene, files)
        for suffix in filter(None, suffixes):
            _files(scene, [ShellWord(word.text + suffix) for word in files])
    scene.execute("read", name)


def _without_in_place(args: list[ShellWord]) -> tuple[list[ShellWord], list[str]]:
    """Remove `-i`, and the suffix that is joined to it, from the options."""
    rest: list[ShellWord] = []
    suffixes: list[str] = []
    for word in args:
        letters, found, suffix = word.text.partition("i")
        if found and word.plain and letters[:1] == "-" and not letters[1:].strip("nErszu"):
            suffixes.append(suffix)
            if letters != "-":
                rest.append(ShellWord(letters))
        else:
            rest.append(word)
    return rest, suffixes


def _scripts(
    found: Read, names: tuple[str, str], *, in_place: bool = False
) -> tuple[list[ShellWord], list[str]]:
    """The files and the scripts of a stream editor: options, else the first operand."""
    files, scripts = found.operands, found.values(*names)
    if not scripts:
        scripts, files = files[:1], files[1:]
        if in_place and scripts and scripts[0].text == "":  # BSD sed
            scripts += files[:1]
    for script in scripts:
        if not script.known:
            raise unknown_value(script)
    if not scripts:
        raise NotUnderstood("it has no script")
    return files, [script.text for script in scripts]


def awk(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`awk`: its program can write files and run commands."""
    found = read(scene, args, _AWK, command=True)
    if found.has("f"):
        raise NotUnderstood("its program is in a file")
    if not found.operands or not found.operands[0].known:
        raise NotUnderstood("its program is only known at run time", "unknown-value")
    for target in awk_writes(found.operands[0].text):
        scene.write(ShellWord(target), "write")
    scene.execute("analyze", name)


def tee(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`tee` writes its operands."""
    _files(scene, read(scene, args, _TEE).operands)
    scene.execute("read", name)


def touch(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`touch` creates files."""
    _files(scene, read(scene, args, _TOUCH).operands)
    scene.execute("read", name)


def truncate(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`truncate` empties files."""
    _files(scene, read(scene, args, _TRUNCATE).operands)
    scene.execute("read", name)


def mkdir(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`mkdir` creates folders; the execute bit of a folder does not matter."""
    for word in read(scene, args, _MKDIR).operands:
        scene.folder(word)
    scene.execute("list", name)


def cp(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`cp` gives a copy the mode of its source, so both must be files that may be written."""
    found = read(scene, args, _CP)
    if len(found.operands) < 2 or found.has("r"):
        scene.execute("change", name)
        return
    _files(scene, found.operands)
    *sources, target = found.operands
    for source in sources:
        if target.plain:
            _files(scene, [ShellWord(f"{target.text}/{source.text.rpartition('/')[2]}")])
    scene.execute("read", name)


def dd(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`dd of=FILE`."""
    for word in args:
        key, equals, value = word.text.partition("=")
        if word.split or not equals or "=" not in word.lead:
            raise unknown_value(word)
        if key == "of":
            target = ShellWord(value)
            target.known, target.glob, target.brace = word.known, word.glob, word.brace
            scene.write(target, "write")
    scene.execute("read", name)


def uniq(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`uniq` writes to its second operand."""
    _second_is_output(scene, read(scene, args, _UNIQ).operands)
    scene.execute("analyze", name)


def xxd(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`xxd` writes to its second operand. Its options are words, and not joined letters."""
    operands: list[ShellWord] = []
    rest = list(reversed(args))
    while rest:
        word = rest.pop()
        if not scene.may_be_option(word):
            operands.append(word)
        elif not word.plain or not _is_xxd_option(word.text):
            raise NotUnderstood(f"the effect of {word.raw} is unknown", "option")
        elif word.text in _XXD_VALUED and not (rest and _is_amount(rest.pop())):
            raise NotUnderstood(f"{word.text} has no number", "option")
    _second_is_output(scene, operands)
    scene.execute("analyze", name)


def _is_xxd_option(text: str) -> bool:
    return (
        text in _XXD_FLAGS
        or text in _XXD_VALUED
        or (text[:2] in _XXD_VALUED and text[2:].isdecimal())
    )


def _is_amount(word: ShellWord) -> bool:
    return word.plain and word.text.removeprefix("+").removeprefix("0x").isalnum()


def _second_is_output(scene: Scene, operands: list[ShellWord]) -> None:
    if any(word.split or word.glob or word.brace for word in operands):
        raise unknown_value(operands[0])
    _files(scene, operands[1:])


def date(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`date` prints the time, or sets it."""
    words = [word for word in args if not (word.plain and word.text.startswith("-I"))]
    operands = read(scene, words, _DATE).operands
    sets = any(not word.lead.startswith("+") for word in operands)
    scene.execute("change" if sets else "information", name)


def hostname(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`hostname` prints the name, or sets it."""
    sets = read(scene, args, _HOSTNAME).operands
    scene.execute("change" if sets else "information", name)


def man(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`man`, without the options that choose the programs it runs; a page can also be a file."""
    for word in read(scene, args, _MAN).operands:
        if not word.plain or "/" in word.text:
            raise NotUnderstood("it shows a file through other programs")
    scene.execute("read", name)


def curl(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`curl`, as long as it only fetches."""
    found = read(scene, args, _CURL)
    if any(word.lead.startswith("@") for word in found.values("H", "header", "b")):
        raise NotUnderstood("it sends a file")
    for word in found.values("w", "write-out"):
        if "%output" in word.text or not word.plain or word.text.startswith("@"):
            raise NotUnderstood("its report may be written to a file")
    for word in found.values("X", "request"):
        if not word.plain or word.text not in ("GET", "HEAD", "OPTIONS"):
            raise NotUnderstood(f"the request {word.raw} changes something", "option")
    for word in found.operands + found.values("url"):
        if not word.lead.startswith(("http://", "https://")) and "://" in word.text:
            raise NotUnderstood("the effect of that URL is unknown")
    targets = found.values("o", "output")
    if any("#" in word.text for word in targets):
        raise NotUnderstood("the name of the file comes from the URL")
    _files(scene, targets)
    scene.execute("read", name)


def wget(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`wget` writes a file unless an option makes it print or only check."""
    found = read(scene, args, _WGET)
    targets = [word for word in found.values("O", "output-document") if word.text != "-"]
    _files(scene, targets)
    looks = found.has("O", "output-document", "spider")
    scene.execute("read" if looks else "change", name)


HANDLERS = {
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk),
    "tee": tee,
    "touch": touch,
    "truncate": truncate,
    "mkdir": mkdir,
    "cp": cp,
    "dd": dd,
    "uniq": uniq,
    "xxd": xxd,
    "date": date,
    "hostname": hostname,
    "man": man,
    "curl": curl,
    "wget": wget,
}
