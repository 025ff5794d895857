"""git: its read-only subcommands.

An alias can run anything, so an unknown subcommand counts as "run". Settings on the command line
(`-c`) and a few options can name programs; only options that are known to be harmless are allowed
(`git_options.py`).
"""

from __future__ import annotations

from muster.permissions.programs.catalogue import named
from muster.permissions.programs.git_options import OPTIONS
from muster.permissions.programs.options import vet
from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.words import NotUnderstood, ShellWord

_GLOBAL_FLAGS = named(
    """--no-pager -P -p --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-replace-objects"""
)
_LISTS = {
    "branch": "-a -r -v -vv --list -l --show-current --all --remotes --verbose --no-color",
    "tag": "-l --list -n --sort=",
    "remote": "-v --verbose show get-url",
    "stash": "list show",
    "worktree": "list",
    "notes": "list show",
    "submodule": "status summary",
    "bisect": "log",
    "lfs": "ls-files status env",
    "bundle": "verify list-heads",
    "sparse-checkout": "list",
    "config": "--get --get-all --get-regexp --list -l get list",
}
"""Subcommands that are read-only if the first word after them is one of these."""

_ALONE = frozenset(("branch", "tag", "remote", "notes", "submodule"))
"""Subcommands that are read-only without arguments."""

_MORE_FLAGS = named(
    """--merged --no-merged --contains --no-contains --points-at --sort --format --column
    --ignore-case -i --global --local --system --show-origin --show-scope --name-only -z --null
    --all --stat -p --oneline --porcelain --recursive --cached --push -n -vv -v -a -r -q
    --abbrev --no-abbrev --no-color --color"""
)
"""Harmless options of these: none of them changes anything."""

_JOINED = frozenset(("--sort", "--format"))
"""Options whose value must be in the same word: in the next one it could hide an option."""

_LISTING = frozenset(
    ("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n")
)
"""Options that make `git branch` and `git tag` list, whatever names follow."""

_SUBMODULES = {"--submodule": ("", "short", "log"), "--ignore-submodules": ("", "all", "dirty")}

_REFS = frozenset(("HEAD", "main", "master", "develop", "dev", "trunk", "stash"))


def git(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """Skip the options before the subcommand, then judge the subcommand."""
    rest = list(reversed(args))
    while rest and scene.may_be_option(rest[-1]):
        word = rest.pop()
        if not word.plain:
            raise unknown_value(word)
        if word.text == "-C" and rest:
            if not rest.pop().known:
                raise unknown_value(word)
        elif word.text.startswith(("--git-dir=", "--work-tree=")):
            _require_git_folder(word)
        elif word.text in ("--version", "--help"):
            scene.execute("information", name)
            return
        elif word.text not in _GLOBAL_FLAGS:
            raise NotUnderstood(f"{word.text} can make it run other programs", "option")
    if not rest:
        scene.execute("information", name)
        return
    verb = rest.pop()
    if not verb.plain:
        raise unknown_value(verb)
    scene.execute(_action(scene, verb.text, list(reversed(rest))), name, verb.text)


def _require_git_folder(word: ShellWord) -> None:
    """Refuse a folder whose settings MAIN could have written: they can name programs."""
    option, _, folder = word.text.partition("=")
    if option == "--git-dir" and folder.rstrip("/").rpartition("/")[2] != ".git":
        raise NotUnderstood(f"{word.text} can make it run other programs", "option")


def _action(scene: Scene, verb: str, args: list[ShellWord]) -> str:
    if verb in OPTIONS:
        operands = vet(scene, args, OPTIONS[verb])
        _require_own_repository(args)
        if verb == "ls-remote" and any("::" in word.text or not word.known for word in args):
            raise NotUnderstood("a URL can name a program")
        return _looks(verb, operands)
    if verb in _LISTS:
        return "information" if _lists(scene, verb, args) else "change"
    return "change" if verb in _CHANGING else "run"


def _require_own_repository(args: list[ShellWord]) -> None:
    """Refuse options by which another git runs in each submodule, by the settings there."""
    for word in args:
        name, _, value = word.text.partition("=")
        if name in _SUBMODULES and value not in _SUBMODULES[name]:
            raise NotUnderstood(f"{word.text} can make it run other programs", "option")


def _looks(verb: str, operands: list[ShellWord]) -> str:
    if verb == "symbolic-ref":
        return "information" if len(operands) == 1 and operands[0].plain else "change"
    if verb == "reflog" and operands:
        if not all(word.plain for word in operands):
            raise unknown_value(operands[0])
        first = operands[0].text
        is_ref = first in _REFS or "@" in first or "/" in first or first.isdecimal()
        return "information" if is_ref or first in ("show", "exists", "list") else "change"
    return "information"


def _lists(scene: Scene, verb: str, args: list[ShellWord]) -> bool:
    if not args:
        return verb in _ALONE
    if not all(word.plain for word in args):
        raise unknown_value(args[0])
    texts = [word.text for word in args]
    if any("::" in text for text in texts):
        raise NotUnderstood("a URL can name a program")
    if verb == "config":
        return _reads_config(texts)
    looks = set(_LISTS[verb].split())
    dashed = [_without_number(text) for text in texts if text.startswith("-")]
    if not {text.partition("=")[0] for text in dashed} <= looks | _MORE_FLAGS:
        return False
    if any(text in _JOINED for text in dashed):
        return False
    if verb in ("branch", "tag"):
        return _lists_refs(texts)
    operands = [text for text in texts if not text.startswith("-")]
    return operands[0] in looks if operands else verb in _ALONE or texts[0] in looks


def _without_number(text: str) -> str:
    """`-n` for `-n1`."""
    return "-n" if text[:2] == "-n" and text[2:].isdecimal() else text


def _lists_refs(texts: list[str]) -> bool:
    """A name creates a branch or tag, unless an option lists them."""
    given = {_without_number(text.partition("=")[0]) for text in texts}
    return bool(given & _LISTING) or all(text.startswith("-") for text in texts)


def _reads_config(texts: list[str]) -> bool:
    """One name is read, a second would be its new value."""
    places = ("--global", "--local", "--system", "--show-origin", "--show-scope", "--name-only")
    rest = [text for text in texts if text not in places]
    if rest and rest[0] in _LISTS["config"].split():
        return not any(text.startswith("-") for text in rest[1:])
    return len(rest) == 1 and not rest[0].startswith("-") and "." in rest[0]


_CHANGING = named(
    """add am apply archive checkout cherry-pick clean clone commit fetch filter-branch gc init
    merge mv pull push rebase reset restore revert rm switch update-index update-ref write-tree
    commit-tree hash-object prune repack format-patch request-pull send-email maintenance
    merge-tree read-tree checkout-index replace rerere fast-import fast-export difftool
    mergetool"""
)

HANDLERS = {"git": git}
