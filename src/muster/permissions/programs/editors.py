"""Programs that read or write, depending on their arguments: stream editors, copiers,
downloaders, archives, and tools with subcommands.
"""

from __future__ import annotations

from muster.permissions.programs import catalogue
from muster.permissions.programs.options import Options, Read, read
from muster.permissions.programs.sed_awk import awk_writes, sed_writes
from muster.permissions.shell.effects import Scene, subcommand, unknown_value
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
_XXD = Options("bEeipPuCa", "clgsnoR")
_DATE = Options(
    "uRj", "dfrv", "date= utc universal iso-8601?= rfc-3339= rfc-email reference= file="
)
_HOSTNAME = Options("fiIsdA", "", "fqdn ip-address all-ip-addresses short domain")
_MAN = Options("afkw", "s", "apropos whatis all where sections=")
_CURL = Options(
    "sSfLIvikGgq46N#",
    "oHAemwbxur",
    """silent show-error fail location head verbose include insecure get compressed max-time=
    connect-timeout= retry= header= user-agent= write-out= output= http1.1 http2 ipv4 ipv6 range=
    globoff no-buffer fail-with-body retry-delay= referer= url=""",
)
_WGET = Options(
    "qScvN46", "OTt", "quiet server-response spider output-document= timeout= tries= no-verbose"
)
_ARCHIVES = {
    "tar": ("list", ("t", "v", "f", "z", "j", "J", "a"), "t"),
    "unzip": ("list", ("l", "v", "p", "q", "t", "Z"), "lpvtZ"),
    "gzip": ("read", ("l", "v", "c", "d", "t"), "lct"),
    "gunzip": ("read", ("l", "v", "c", "t"), "lct"),
    "bunzip2": ("read", ("c", "t", "v"), "ct"),
    "bzip2": ("read", ("c", "d", "t", "v"), "ct"),
    "xz": ("read", ("l", "c", "d", "t", "v"), "lct"),
    "unxz": ("read", ("l", "c", "t", "v"), "lct"),
    "zipinfo": ("list", ("1", "l", "m", "s", "v", "h", "t", "z"), ""),
}
"""Archivers: the action of listing one, the known letters, and the letters of which one must be
given so that nothing is written."""


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


def second_is_output(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`uniq` and `xxd` write to their second operand."""
    found = read(scene, args, _UNIQ if name == "uniq" else _XXD)
    if any(word.split or word.glob or word.brace for word in found.operands):
        raise unknown_value(found.operands[0])
    _files(scene, found.operands[1:])
    scene.execute("analyze", name)


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
    if any("%output" in word.text or not word.plain for word in found.values("w", "write-out")):
        raise NotUnderstood("its report may be written to a file")
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


def archive(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """Archivers, as long as they only list."""
    action, known, needed = _ARCHIVES[name]
    letters = ""
    if name == "tar" and any(":" in word.text for word in args):
        raise NotUnderstood("an archive on another machine is fetched by other programs")
    for index, word in enumerate(args):
        if scene.may_be_option(word) or (name == "tar" and index == 0):
            if not word.plain or (word.text.startswith("--") and word.text != "--list"):
                raise NotUnderstood(f"the effect of {word.text} is unknown", "option")
            letters += "t" if word.text == "--list" else word.text.lstrip("-")
    looks = set(letters) <= set(known) and (not needed or bool(set(letters) & set(needed)))
    scene.execute(action if looks else "change", name)


def by_subcommand(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """Tools with some read-only subcommands."""
    first = args[0].text if args and args[0].plain else ""
    looks = first in catalogue.SUBCOMMANDS.get(name, "").split()
    rest = args[1:]
    if name in catalogue.PAIRS and len(args) > 1 and args[1].plain:
        looks = f"{first}:{args[1].text}" in catalogue.PAIRS[name].split()
        rest = args[2:]
    if not looks:
        scene.execute(catalogue.KNOWN.get(name, "run"), name, *subcommand(args))
        return
    for word in rest:
        known = catalogue.SUBCOMMAND_OPTIONS | set(catalogue.OWN_OPTIONS.get(name, "").split())
        if scene.may_be_option(word) and (
            not word.plain or word.text.partition("=")[0] not in known
        ):
            raise NotUnderstood(f"the effect of {word.raw} is unknown", "option")
    scene.execute("information", name, first)


HANDLERS = {
    **dict.fromkeys((*catalogue.SUBCOMMANDS, *catalogue.PAIRS), by_subcommand),
    **dict.fromkeys(_ARCHIVES, archive),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk),
    "tee": tee,
    "touch": touch,
    "truncate": truncate,
    "mkdir": mkdir,
    "cp": cp,
    "dd": dd,
    "uniq": second_is_output,
    "xxd": second_is_output,
    "date": date,
    "hostname": hostname,
    "man": man,
    "curl": curl,
    "wget": wget,
}
