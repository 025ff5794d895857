"""Programs that only read, as long as every option of theirs is one of these.

Options that name a program, a file to write, a plugin, or a file with more options are left out;
so is every option that is not known. Letters in `valued` take the rest of their word as a value.
"""

from __future__ import annotations

from muster.permissions.programs.options import Options, vet
from muster.permissions.shell.effects import Scene, subcommand
from muster.permissions.shell.words import NotUnderstood, ShellWord

_LESS = Options(
    "NSRFXiIMmeEgGsnaqQrfJuUwW0123456789x",
    "",
    """LINE-NUMBERS line-numbers chop-long-lines RAW-CONTROL-CHARS raw-control-chars no-init
    quit-if-one-screen ignore-case IGNORE-CASE LONG-PROMPT long-prompt QUIT-AT-EOF quit-at-eof
    squeeze-blank-lines help version""",
)
_BAT = Options(
    "pnAPu",
    "lrHm",
    """style paging language line-range highlight-line number plain theme wrap tabs show-all
    color decorations list-languages list-themes diff file-name help version""",
)
_MORE = Options("dlefpcsu0123456789", "", "help version")

_TABLE: dict[str, tuple[str, Options]] = {
    "ack": (
        "search",
        Options(
            "iwvlLcoQnrfhH",
            "ABCmg",
            """ignore-case type ignore-dir no-color nocolor color noheading heading nogroup group
            files-with-matches files-without-matches count word-regexp invert-match literal
            smart-case max-count after-context before-context context noenv sort-files help
            version""",
        ),
    ),
    "ag": (
        "search",
        Options(
            "isSwvlLcoQauUfr0",
            "ABCGgm",
            """ignore-case case-sensitive smart-case literal files-with-matches
            files-without-matches count hidden nocolor color nogroup group heading noheading
            numbers nonumbers ignore depth column context after before vimgrep all-types
            word-regexp stats invert-match follow max-count only-matching help version""",
        ),
    ),
    "base64": ("analyze", Options("dD", "wb", "decode wrap ignore-garbage break help version")),
    "bat": ("read", _BAT),
    "batcat": ("read", _BAT),
    "dmesg": (
        "read",
        Options(
            "TkuxeLtrwJ",
            "lfs",
            """ctime level facility kernel userspace decode nopager color time-format notime raw
            json since until follow reltime help version""",
        ),
    ),
    "file": (
        "analyze",
        Options(
            "biLhkNnpr0sv",
            "Fe",
            """brief mime mime-type mime-encoding dereference no-dereference keep-going
            separator extension raw no-pad help version""",
        ),
    ),
    "iconv": (
        "read",
        Options("cls", "ft", "from-code to-code list silent unicode-subst help version"),
    ),
    "jobs": ("information", Options("lprsn")),
    "journalctl": (
        "read",
        Options(
            "xefaqrkml",
            "unpotgSUNFb",
            """unit user-unit lines since until no-pager follow priority boot output identifier
            grep case-sensitive reverse dmesg user system merge list-boots disk-usage no-hostname
            catalog no-full full all quiet utc header fields field no-tail pager-end help
            version""",
        ),
    ),
    "less": ("read", _LESS),
    "lsof": ("list", Options("nPtalURwVNOb", "ipucdsgTFr")),
    "more": ("read", _MORE),
    "nm": (
        "analyze",
        Options(
            "aABCDgnopruSPjvVU",
            "tf",
            """demangle no-demangle defined-only undefined-only dynamic extern-only numeric-sort
            size-sort print-size reverse-sort no-sort print-file-name format radix debug-syms
            print-armap special-syms synthetic help version""",
        ),
    ),
    "objdump": (
        "analyze",
        Options(
            "afphxdDSsgeGtTrRCwlzHvi",
            "jMbm",
            """all-headers archive-headers disassemble disassemble-all disassemble-zeroes
            section-headers headers private-headers file-headers full-contents syms dynamic-syms
            reloc dynamic-reloc demangle source line-numbers section architecture wide
            no-show-raw-insn show-raw-insn start-address stop-address stabs help version""",
        ),
    ),
    "readelf": (
        "analyze",
        Options(
            "ahlSgtesnrudVAIWDcHvC",
            "xpRw",
            """all file-header program-headers segments section-headers sections section-groups
            section-details symbols syms dyn-syms notes relocs unwind dynamic version-info
            arch-specific archive-index use-dynamic hex-dump string-dump relocated-dump
            debug-dump histogram wide headers demangle help version""",
        ),
    ),
    "rg": (
        "search",
        Options(
            "iSswxvclnNoUPaqHI.uLp0hFbV",
            "egtTABCmMjrEfd",
            """regexp fixed-strings files-with-matches files-without-match count count-matches
            line-number no-line-number column no-column ignore-case smart-case case-sensitive
            word-regexp line-regexp invert-match only-matching multiline multiline-dotall pcre2
            engine glob iglob glob-case-insensitive type type-not type-list type-add type-clear
            hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global
            no-ignore-dot unrestricted follow max-depth maxdepth max-count max-columns
            max-columns-preview max-filesize after-context before-context context heading
            no-heading with-filename no-filename color colors json files sort sortr sort-files
            stats quiet passthru replace trim text binary null null-data vimgrep pretty crlf
            encoding file debug trace threads no-messages no-config ignore-file one-file-system
            path-separator context-separator no-context-separator field-match-separator
            field-context-separator line-buffered block-buffered no-unicode byte-offset
            stop-on-nonmatch include-zero no-require-git help version""",
        ),
    ),
    "shuf": (
        "analyze",
        Options(
            "ezr",
            "ni",
            "echo head-count input-range repeat zero-terminated random-source help version",
        ),
    ),
    "size": ("analyze", Options("ABdoxt", "", "format common totals radix help version")),
    "sort": (
        "analyze",
        Options(
            "bdfgiMhnRrVcCmsuz",
            "ktS",
            """key field-separator reverse numeric-sort general-numeric-sort human-numeric-sort
            version-sort unique ignore-case ignore-leading-blanks ignore-nonprinting
            dictionary-order month-sort random-sort sort check merge stable zero-terminated
            parallel buffer-size debug files0-from batch-size help version""",
        ),
    ),
    "ss": (
        "information",
        Options(
            "tulnpaemois46xwdrHOZ",
            "fA",
            """tcp udp listening numeric processes all extended memory options info summary ipv4
            ipv6 unix raw no-header family query resolve help version""",
        ),
    ),
    "strings": (
        "read",
        Options(
            "adfow",
            "nteTU",
            "all data bytes radix encoding print-file-name include-all-whitespace help version",
        ),
    ),
    "top": ("information", Options("bicHSs1", "ndpuUoewE", "help version")),
    "tput": ("information", Options()),
    "tree": (
        "list",
        Options(
            "adflipshugDFvtcrUNQCnASxJXLIP0123456789",
            "",
            """dirsfirst filesfirst noreport gitignore prune du si charset filelimit timefmt sort
            matchdirs ignore-case inodes device metafirst info fromfile help version""",
        ),
    ),
    "wait": ("information", Options("nf")),
    "xmllint": (
        "analyze",
        Options(
            "",
            "",
            """noout format xpath valid schema relaxng html recover nonet noblanks encode pretty
            c14n huge stream version dropdtd nowarning noerr timing""",
        ),
    ),
    "yq": (
        "analyze",
        Options(
            "reyYPMCjNn",
            "opI",
            """output-format input-format raw-output prettyPrint unwrapScalar no-colors colors
            null-input indent exit-status no-doc yaml-output help version""",
        ),
    ),
    "zless": ("read", _LESS),
    "zmore": ("read", _MORE),
    **dict.fromkeys(
        ("zgrep", "bzgrep", "xzgrep"),
        (
            "search",
            Options("EFivwxclLqshHnoaI", "ABCm", "ignore-case count line-number color"),
        ),
    ),
}

_RESPONSE_FILES = frozenset(("nm", "objdump", "readelf", "size", "strings"))
"""Programs that read more options from a file (`@FILE`)."""

_SCRIPTS = frozenset(("zgrep", "bzgrep", "xzgrep", "zless", "zmore"))
"""Programs that are shell scripts, some of them with mistakes about the names of files."""

_PLUS = {"less": ("+G",), "zless": ("+G",), "lsof": ("+D", "+d")}
"""Words with a plus that are harmless; other such words are commands or options."""


def reader(scene: Scene, name: str, args: list[ShellWord]) -> None:
    """A program of the table."""
    action, options = _TABLE[name]
    for word in vet(scene, args, options):
        if word.lead.startswith("+") and not _is_position(word) and name != "rg":
            if word.text not in _PLUS.get(name, ()):
                raise NotUnderstood(f"{word.text} can make it run something", "option")
        elif name in _RESPONSE_FILES and not _is_file(word):
            raise NotUnderstood(f"{word.raw} may be a file with options", "option")
        elif name in _SCRIPTS and (not word.plain or "\n" in word.text):
            raise NotUnderstood("a file name may be read as a script", "unknown-value")
    scene.execute(action, name, *subcommand(args))


def _is_position(word: ShellWord) -> bool:
    """`+20`: the line to begin with."""
    return word.plain and word.text[1:].isdecimal()


def _is_file(word: ShellWord) -> bool:
    """Whether a word cannot begin with `@`."""
    if word.lead:
        return not word.lead.startswith("@")
    return word.process


HANDLERS = dict.fromkeys(_TABLE, reader)
