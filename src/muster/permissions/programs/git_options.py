"""The options of git's read-only subcommands.

An option that writes a file (`--output`), runs a program (`--ext-diff`, `--open-files-in-pager`,
`--upload-pack`, `--textconv`, `--show-signature`) or reads options from elsewhere is left out, and
so is every abbreviation.
"""

from muster.permissions.programs.options import Options

_DIFF = """patch no-patch unified raw patch-with-raw indent-heuristic no-indent-heuristic minimal
    patience histogram anchored diff-algorithm stat compact-summary numstat shortstat dirstat
    cumulative dirstat-by-file summary patch-with-stat name-only name-status submodule color
    no-color color-moved no-color-moved color-moved-ws no-color-moved-ws word-diff
    word-diff-regex color-words no-renames rename-empty no-rename-empty check
    ws-error-highlight full-index binary abbrev no-abbrev break-rewrites find-renames find-copies
    find-copies-harder irreversible-delete diff-filter pickaxe-all pickaxe-regex skip-to
    rotate-to relative no-relative text ignore-cr-at-eol ignore-space-at-eol
    ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines
    inter-hunk-context function-context exit-code quiet no-ext-diff no-textconv
    ignore-submodules src-prefix dst-prefix no-prefix default-prefix line-prefix
    ita-invisible-in-index staged cached merge-base no-index ours theirs base cc
    stat-width stat-name-width stat-count"""
_LOG = (
    _DIFF
    + """ oneline graph no-graph all branches tags remotes glob exclude decorate no-decorate
    decorate-refs decorate-refs-exclude follow no-follow since after until before author committer
    grep all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings
    perl-regexp merges no-merges min-parents max-parents no-min-parents no-max-parents
    first-parent not reflog boundary simplify-by-decoration full-history dense sparse
    simplify-merges ancestry-path cherry-pick cherry-mark cherry left-right left-only right-only
    walk-reflogs merge reverse topo-order date-order author-date-order objects no-walk do-walk
    pretty format abbrev-commit no-abbrev-commit encoding notes no-notes show-notes date
    relative-date parents children log-size max-count skip source use-mailmap mailmap
    no-mailmap count show-pulls diff-merges no-diff-merges remerge-diff combined-all-paths
    expand-tabs no-expand-tabs since-as-filter exclude-first-parent-only in-commit-order
    timestamp header no-commit-header disk-usage grep-reflog show-linear-break bisect root
    clear-decorations ignore-missing root always"""
)
_LOG_FLAGS = "0123456789pusRwbazWqcmrtigEFP"
_LOG_VALUED = "USGMCBDXLnIl"
_LOG_OPTIONS = Options(_LOG_FLAGS, _LOG_VALUED, _LOG)
_REFS = """sort format color merged no-merged contains no-contains points-at ignore-case count
    omit-empty exclude"""

OPTIONS = {
    **dict.fromkeys(("log", "show", "whatchanged", "rev-list"), _LOG_OPTIONS),
    **dict.fromkeys(
        ("diff", "diff-tree", "diff-index", "diff-files"),
        Options(
            "0123456789pusRwbazWqcmrt",
            "USGMCBDXIl",
            _DIFF + " root stdin always no-commit-id pretty format merge-base",
        ),
    ),
    "range-diff": Options(
        "0123456789pusRwbazWq",
        "USGMCBDXIl",
        _DIFF + " creation-factor no-dual-color left-only right-only no-notes notes",
    ),
    "shortlog": Options("nsec0123456789", "w", _LOG + " summary numbered email group"),
    "status": Options(
        "sbvz",
        "u",
        """short branch show-stash porcelain long verbose untracked-files ignore-submodules
        ignored column no-column ahead-behind no-ahead-behind renames no-renames find-renames
        null""",
    ),
    **dict.fromkeys(
        ("blame", "annotate"),
        Options(
            "bltsfnewpch",
            "LSMC",
            """root show-stats reverse porcelain line-porcelain incremental encoding date
            first-parent progress no-progress score-debug show-name show-number show-email abbrev
            ignore-rev ignore-revs-file color-lines color-by-age minimal since""",
        ),
    ),
    "grep": Options(
        "aIiwvhHEGFPnlLzocpWqr0123456789",
        "ABCefm",
        """cached untracked no-index recurse-submodules exclude-standard no-exclude-standard
        threads text no-textconv ignore-case invert-match word-regexp full-name line-number column
        extended-regexp basic-regexp fixed-strings perl-regexp files-with-matches name-only
        files-without-match null only-matching count color no-color break heading show-function
        function-context context after-context before-context max-count max-depth recursive
        no-recursive and or not all-match quiet""",
    ),
    "ls-files": Options(
        "cdmoisuktvfz",
        "xX",
        """cached deleted modified others ignored stage unmerged killed directory
        no-empty-directory eol debug deduplicate exclude exclude-from exclude-per-directory
        exclude-standard error-unmatch with-tree full-name recurse-submodules abbrev sparse format
        resolve-undo""",
    ),
    "ls-tree": Options(
        "drtlz", "", "name-only name-status object-only full-name full-tree abbrev format long"
    ),
    "cat-file": Options(
        "ptse",
        "",
        """batch batch-check batch-all-objects batch-command buffer unordered allow-unknown-type
        follow-symlinks""",
    ),
    "rev-parse": Options(
        "q",
        "",
        """abbrev-ref verify short symbolic symbolic-full-name show-toplevel show-prefix show-cdup
        git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir
        is-bare-repository is-shallow-repository all branches tags remotes not quiet default
        git-path show-superproject-working-tree path-format local-env-vars since after until
        before revs-only no-revs flags no-flags show-object-format""",
    ),
    "describe": Options(
        "",
        "",
        """all tags contains abbrev candidates exact-match debug long match exclude always
        first-parent dirty broken""",
    ),
    "for-each-ref": Options("", "", _REFS),
    "show-ref": Options(
        "dsq", "", "head heads branches tags dereference hash verify exists quiet abbrev"
    ),
    "merge-base": Options("a", "", "all octopus is-ancestor independent fork-point"),
    "name-rev": Options("", "", "tags refs exclude all name-only always no-undefined"),
    "count-objects": Options("vH", "", "verbose human-readable"),
    "check-ignore": Options("qvzn", "", "quiet verbose stdin no-index non-matching"),
    "check-attr": Options("az", "", "all cached stdin source"),
    "check-mailmap": Options("", "", "stdin"),
    "check-ref-format": Options("", "", "branch normalize allow-onelevel refspec-pattern"),
    "verify-pack": Options("vs", "", "verbose stat-only"),
    "ls-remote": Options("htq", "", "heads branches tags refs quiet exit-code get-url sort symref"),
    "cherry": Options("v", "", "verbose abbrev"),
    "show-branch": Options(
        "arg",
        "",
        """all remotes current topo-order date-order sparse more list merge-base independent
        no-name sha1-name topics reflog color no-color""",
    ),
    "symbolic-ref": Options("q", "", "short quiet no-recurse"),
    "fsck": Options(
        "v",
        "",
        """full no-full dangling no-dangling unreachable strict connectivity-only name-objects
        progress no-progress verbose root tags cache reflogs no-reflogs""",
    ),
    "var": Options("l"),
    "version": Options("", "", "build-options"),
    "help": Options("ag", "", "all guides"),
    "reflog": Options(_LOG_FLAGS, _LOG_VALUED, _LOG),
}
"""Read-only subcommands, each with the options that leave it so."""
