"""git: its read-only subcommands.

An alias can run anything, so an unknown subcommand counts as "run". Settings on the command line
(`-c`) and a few options can name programs; they are refused, abbreviated or not.
"""

from __future__ import annotations

from muster.permissions.programs.catalogue import named
from muster.permissions.shell.effects import Scene, unknown_value
from muster.permissions.shell.words import NotUnderstood, ShellWord

_GLOBAL_FLAGS = named(
    """--no-pager -P -p --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-replace-objects"""
)
_LOOKING = named(
    """status log diff show shortlog describe rev-parse rev-list ls-files ls-tree cat-file blame
    annotate grep name-rev merge-base whatchanged cherry count-objects diff-tree diff-index
    diff-files for-each-ref show-ref show-branch var version help check-ignore check-attr
    check-mailmap check-ref-format range-diff verify-pack ls-remote"""
)
_REFUSED = (
    *("output", "output-directory", "ext-diff", "open-files-in-pager", "upload-pack", "exec"),
    *("textconv", "filters", "write-tree", "web", "config", "man", "info"),
)
_LETTERS = {"grep": "O", "help": "wmi"}

_LISTS = {
    "branch": "-a -r -v -vv --list -l --show-current --all --remotes --verbose --no-color",
    "tag": "-l --list -n --sort=",
    "remote": "-v --verbose show get-url",
    "stash": "list show",
    "worktree": "list",
    "notes": "list show",
    "reflog": "show exists",
    "submodule": "status summary",
    "bisect": "log",
    "lfs": "ls-files status env",
    "bundle": "verify list-heads",
    "sparse-checkout": "list",
    "config": "--get --get-all --get-regexp --list -l get list",
}
"""Subcommands that are read-only if the first word after them is one of these."""

_ALONE = frozenset(("branch", "tag", "remote", "reflog", "notes", "submodule"))
"""Subcommands that are read-only without arguments."""

_MORE_FLAGS = named(
    """--merged --no-merged --contains --no-contains --points-at --sort --format --column
    --ignore-case -i --global --local --system --show-origin --show-scope --name-only -z --null
    --all --stat -p --oneline --porcelain --recursive --cached --push -n -vv -v -a -r -q
    --abbrev --no-abbrev"""
)
"""Harmless options of these: none of them changes anything."""


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


def _action(scene: Scene, verb: str, args: list[ShellWord]) -> str:
    if verb in _LOOKING:
        scene.refuse_options(args, _LETTERS.get(verb, ""), _REFUSED)
        if verb == "ls-remote" and any("::" in word.text or not word.known for word in args):
            raise NotUnderstood("a URL can name a program")
        return "information"
    if verb == "symbolic-ref":
        return "information" if len(args) == 1 and args[0].text == "HEAD" else "change"
    if verb in _LISTS:
        return "information" if _lists(scene, verb, args) else "change"
    return "change" if verb in _CHANGING else "run"


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
    flags = {text.partition("=")[0] for text in texts if text.startswith("-")}
    if not flags <= looks | _MORE_FLAGS:
        return False
    if verb in ("branch", "tag"):
        return _lists_refs(texts)
    operands = [text for text in texts if not text.startswith("-")]
    return operands[0] in looks if operands else verb in _ALONE or texts[0] in looks


def _lists_refs(texts: list[str]) -> bool:
    """A name creates a branch or tag, unless an option lists them."""
    asked = ("--list", "-l", "--contains", "--merged", "--no-merged", "--points-at", "-n")
    return texts[0].startswith(asked) or all(text.startswith("-") for text in texts)


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
