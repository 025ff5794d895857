"""Tools with subcommands, some of which only look."""

from __future__ import annotations

from muster.permissions.programs import catalogue
from muster.permissions.programs.options import Options, read, vet
from muster.permissions.shell.effects import Scene, subcommand
from muster.permissions.shell.words import NotUnderstood, ShellWord

_GH_API = Options(
    "i",
    "qtHXf",
    """jq= template= include paginate slurp silent header= method= hostname= cache= verbose
    raw-field=""",
)
_NPM_AUDIT = Options("", "", "json omit include audit-level production")
_CERTIFICATE = catalogue.named(
    """-noout -text -subject -issuer -dates -enddate -startdate -serial -fingerprint -sha256 -sha1
    -purpose -email -ext -checkend -pubkey -in -inform -nameopt -modulus -hash -ocsp_uri -alias"""
)

_IP_OPTIONS = catalogue.named(
    "-br -brief -c -color -4 -6 -s -stats -statistics -j -json -p -pretty -d -details -o -oneline"
)
_IP_OBJECTS = catalogue.named(
    "a addr address l link r route n neigh neighbor neighbour ru rule maddr mroute"
)
_IP_LOOKING = catalogue.named("show list ls")


def by_subcommand(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """A tool of which some subcommands, or pairs of them, only look."""
    first = args[0].text if args and args[0].plain else ""
    second = args[1].text if len(args) > 1 and args[1].plain else ""
    if f"{first}:{second}" in catalogue.PAIRS.get(name, "").split():
        rest = args[2:]
    elif first in catalogue.SUBCOMMANDS.get(name, "").split():
        rest = args[1:]
    else:
        scene.execute(catalogue.KNOWN.get(name, "run"), name, *subcommand(args))
        return
    own = catalogue.OWN_OPTIONS.get(name, "")
    letters = "".join(word[1] for word in own.split() if len(word) == 2)
    longs = " ".join(word[2:] for word in own.split() if word.startswith("--"))
    vet(
        scene,
        rest,
        Options(
            catalogue.SUBCOMMAND_FLAGS,
            catalogue.SUBCOMMAND_VALUED + letters,
            f"{catalogue.SUBCOMMAND_LONGS} {longs}",
        ),
    )
    scene.execute("information", name, first)


def gh(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`gh`; `gh api` only with GET, which it uses unless fields are given without a method."""
    if not (args and args[0].plain and args[0].text == "api"):
        by_subcommand(scene, name, args)
        return
    found = read(scene, args[1:], _GH_API)
    methods = found.values("X", "method")
    gets = all(word.plain and word.text.upper() in ("GET", "HEAD") for word in methods)
    gets = gets and (bool(methods) or not found.has("f", "raw-field"))
    known = all(word.lead not in ("", "graphql") for word in found.operands)
    scene.execute("information" if gets and known else "change", name, "api")


def npm(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`npm`; `npm audit` without `fix`, and `npm run` alone, which lists the scripts."""
    first = args[0].text if args and args[0].plain else ""
    audits = first == "audit" and not vet(scene, args[1:], _NPM_AUDIT)
    if audits or (first == "run" and len(args) == 1):
        scene.execute("information", name, first)
    else:
        by_subcommand(scene, name, args)


def ip(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`ip addr` and the like, which show addresses, links and routes unless a verb follows."""
    words = [word.text if word.plain else "" for word in args]
    while words and words[0] in _IP_OPTIONS:
        words.pop(0)
    looks = bool(words) and words[0] in _IP_OBJECTS and (words[1:2] or ["show"])[0] in _IP_LOOKING
    scene.execute("information" if looks and all(words) else "run", name, *words[:1])


def openssl(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """`openssl x509` that prints a certificate, and `openssl version`."""
    first = args[0].text if args and args[0].plain else ""
    if first == "x509" and any(word.text == "-noout" for word in args):
        for word in args[1:]:
            if scene.may_be_option(word) and not (word.plain and word.text in _CERTIFICATE):
                raise NotUnderstood(f"the effect of {word.raw} is unknown", "option")
        scene.execute("information", name, first)
    else:
        looks = first == "version" and len(args) == 1
        scene.execute("information" if looks else "change", name, first)


HANDLERS = {
    **dict.fromkeys((*catalogue.SUBCOMMANDS, *catalogue.PAIRS), by_subcommand),
    "gh": gh,
    "ip": ip,
    "npm": npm,
    "openssl": openssl,
}
