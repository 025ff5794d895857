"""The catalogue of known programs, as data for `effects.py`. An unlisted program is "run".

Every program has an action, in the vocabulary of the permissions. Five are read-only: `read`,
`list`, `search`, `analyze`, `information`. The others are not: `run`, `exec`, `eval`, `compile`,
`build`, `change`.
"""


def named(names: str) -> frozenset[str]:
    """Names that are separated by blanks, as a set."""
    return frozenset(names.split())


LOOKING = frozenset(("read", "list", "search", "analyze", "information"))

_HARMLESS = {
    "read": """cat tac nl head tail od hexdump zcat bzcat xzcat basename dirname rev fold fmt
        expand unexpand pr""",
    "list": "ls dir vdir exa eza lsd lsblk lsusb lspci lscpu lsattr dirs",
    "search": "grep egrep fgrep locate look whereis which type",
    "analyze": """wc cut tr paste join comm cksum md5sum sha1sum sha224sum sha256sum sha384sum
        sha512sum b2sum sum md5 shasum diff cmp stat du df tsort seq numfmt factor jq column
        getfacl base32 colordiff tokei expr bc""",
    "information": """echo pwd true false : id whoami groups users who w uptime uname nproc
        free vmstat iostat ps pgrep pstree printenv locale getconf getent tty cal ncal realpath
        readlink sleep yes help exit return break continue shift times last findmnt
        sw_vers netstat ping ping6 dig host nslookup whois traceroute clear logname hostid
        pathchk lsb_release""",
}
"""Programs that write no file and run no program, with any options."""

HARMLESS = {name: action for action, names in _HARMLESS.items() for name in names.split()}

NOT_LOOKING = {
    "run": """python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit
        java scala groovy Rscript R julia elixir erl iex ghci runghc ocaml swift dotnet mono
        wine osascript bash sh dash zsh ksh fish csh tcsh ash pwsh powershell expect tclsh gdb
        lldb strace ltrace vi vim nvim view ex ed emacs emacsclient nano pico micro code screen
        tmux script ssh su sudo doas pkexec runuser chroot unshare nsenter parallel at batch
        crond watchman entr direnv source . pytest tox nox jest vitest mocha rspec phpunit
        jupyter psql mysql sqlite3 mongosh redis-cli ansible ansible-playbook flask django-admin
        ruff black flake8 pylint mypy pyright eslint prettier biome stylelint shellcheck
        playwright cypress uvicorn gunicorn streamlit busybox dc m4
        ldd bind complete enable mapfile readarray""",
    "compile": """gcc g++ cc c++ clang clang++ rustc javac kotlinc tsc swiftc ghc ld as nasm go
        gofmt ocamlc ocamlopt fpc gfortran nvcc esbuild swc babel protoc""",
    "build": """make gmake cmake ninja meson bazel buck gradle gradlew mvn ant sbt rake just
        task npm npx yarn pnpm pnpx corepack pip pip3 pipx pipenv uv uvx poetry pdm hatch conda
        mamba cargo rustup bundle gem composer docker docker-compose podman buildah kubectl helm
        terraform tofu pulumi vagrant packer webpack vite rollup parcel turbo nx lerna gulp
        grunt brew apt apt-get aptitude dpkg yum dnf rpm pacman apk snap flatpak nix nix-shell
        nix-env port""",
    "change": """rm rmdir unlink mv ln chmod chown chgrp chattr setfacl mknod mkfifo install
        rsync shred patch split csplit kill pkill killall reboot shutdown halt poweroff
        systemctl service launchctl crontab mount umount mkfs fdisk useradd userdel usermod
        passwd groupadd iptables sysctl swapon swapoff losetup zip unzip gzip gunzip bzip2
        bunzip2 xz unxz zstd 7z ar cpio dos2unix unix2dos rename alias unalias umask ulimit
        fallocate sync logger wall write mail sendmail scp sftp ftp nc ncat netcat socat telnet
        aws gcloud az gh hub glab svn hg bzr openssl gpg ssh-keygen ssh-add ssh-copy-id
        gsettings defaults xdg-open open pbcopy xclip history fc disown suspend fg bg""",
}

KNOWN = {name: action for action, names in NOT_LOOKING.items() for name in names.split()}

_VERSION = frozenset(("--version", "--help"))
_NO_VERSION = named(
    """tclsh expect erl sh dash ash ksh csh tcsh ed ex vi view at batch dc m4 source . script screen
    watchman entr sqlite3 bind complete enable mapfile readarray as write wall mail sendmail ftp
    telnet open xdg-open history fc disown suspend fg bg alias unalias umask ulimit reboot
    shutdown halt poweroff sync port just task busybox"""
)
"""Programs that may read standard input, or act, when they are asked for their version."""
_LOADING = named(
    "pytest tox nox jest vitest mocha rspec phpunit flask django-admin grunt gulp rake gradlew"
)
"""Programs that load code or plugins of the project before they say their version or help."""
_OWN_VERSION = {
    "-V": "python pypy pip cargo rustc ssh tmux",
    "-v": "node npm npx pnpm yarn ruby php perl gcc clang mvn tsc",
    "--info": "dotnet",
    "--list-sdks": "dotnet",
    "--list-runtimes": "dotnet",
    "-version": "java javac",
    "version": "go docker kubectl helm terraform",
}
_OWN_VERSIONS = {(name, word) for word, names in _OWN_VERSION.items() for name in names.split()}

SUBCOMMANDS = {
    "apt": "list show search policy",
    "apt-cache": "show search policy depends rdepends pkgnames",
    "brew": "list info search",
    "conda": "list info",
    "crontab": "-l",
    "docker": "ps images logs inspect info history port top version stats diff",
    "docker-compose": "ps logs images top",
    "gem": "list",
    "go": "env",
    "dpkg": "-l -L -s -S --list --status --listfiles --search",
    "helm": "list ls status history version search show get",
    "kubectl": "get describe logs cluster-info api-resources top version explain",
    "muster": (
        "status needs log logs search why agents soul transcript diagram doctor permit route costs"
        " --help --version"
    ),
    "npm": "ls list view info outdated root prefix why explain search",
    "pip": "list show freeze check",
    "pip3": "list show freeze check",
    "pnpm": "ls list outdated why",
    "podman": "ps images logs inspect info history port top version stats diff",
    "rpm": "-q -qa -qi -ql -qf",
    "systemctl": "status show list-units list-timers is-active is-enabled is-failed cat",
    "yarn": "list info why outdated",
}
"""Subcommands that only look, of programs that otherwise do not."""

_CONTAINERS = """compose:config compose:ps compose:logs compose:ls compose:images compose:top
    container:ls container:list container:logs container:inspect container:top image:ls image:list
    image:inspect network:ls network:list network:inspect volume:ls volume:list volume:inspect
    system:df system:info context:ls"""

PAIRS = {
    "aws": "sts:get-caller-identity s3:ls",
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "gh": """pr:view pr:list pr:diff pr:status pr:checks issue:view issue:list issue:status
        repo:view repo:list run:view run:list run:watch release:view release:list label:list
        workflow:list workflow:view auth:status search:code search:issues search:prs search:repos
        search:commits gist:list gist:view""",
    "kubectl": """config:current-context config:get-contexts config:get-clusters config:view
        rollout:status rollout:history auth:can-i auth:whoami""",
    "npm": "config:get config:list config:ls pkg:get",
    "pip": "index:versions config:list",
    "pip3": "index:versions config:list",
    "rustup": "toolchain:list target:list component:list",
}
"""The same for programs whose subcommands have subcommands."""

SUBCOMMAND_FLAGS = "galqtAfprh"
SUBCOMMAND_VALUED = "nLR"
SUBCOMMAND_LONGS = """json global all depth long limit format no-trunc tail since until quiet
    namespace all-namespaces state author label comments timestamps follow no-pager installed
    outdated upgradable versions name-only user type parseable selector show-labels no-stream
    production dev help"""
"""Harmless options of these: none of them names a program or a file to write."""

OWN_OPTIONS = {
    "kubectl": "-o -c -l --output --container --context --sort-by --watch --previous --client",
    "gh": "-q -s -L -l -B -H --jq --log --log-failed --repo --search --base --head --assignee",
    "helm": "-o --output --max --filter",
    "aws": "--recursive --human-readable --summarize --region --profile --query --output",
    "docker": "--filter --services --images --volumes --profiles",
    "podman": "--filter --services --images --volumes --profiles",
    "systemctl": "--failed --state",
}
"""More options of single programs; a letter of these takes the rest of its word as a value."""

SYSTEM_FOLDERS = frozenset(
    ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
)
"""Trusted folders: a program given with its path is looked up by name only if it is in one."""

BY_NAME = frozenset(("git",))
"""Programs of which a confined line has its own, which only their name finds."""

HARMLESS_VARIABLES = named(
    """LANG LANGUAGE TZ COLUMNS LINES TERM NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLORTERM
    IFS GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT BLOCKSIZE TIMEFORMAT CI"""
)
"""Harmless environment variables: they only change how a program formats its output."""

PAGERS = named("PAGER GIT_PAGER MANPAGER GH_PAGER SYSTEMD_PAGER BAT_PAGER AWS_PAGER DELTA_PAGER")
"""Variables that name a pager: `cat`, and nothing, are harmless."""

INTEGER_VARIABLES = named(
    """RANDOM SRANDOM SECONDS HISTCMD LINENO OPTIND BASHPID EPOCHSECONDS EPOCHREALTIME UID EUID GID
    EGID PPID SHLVL COLUMNS LINES HISTSIZE HISTFILESIZE SAVEHIST TMOUT MAILCHECK LISTMAX
    KEYTIMEOUT BAUD DIRSTACKSIZE PERIOD REPORTTIME FUNCNEST ERRNO TTYIDLE LOGCHECK"""
)
"""Variables of shells that evaluate arithmetic when they are assigned to."""

_SENSITIVE = named(
    """PATH HOME ENV SHELL PAGER MANPAGER EDITOR VISUAL BROWSER CDPATH FPATH TMPDIR PS0 PS1 PS2 PS4
    PROMPT_COMMAND HISTFILE FCEDIT TERMINFO TERMCAP GLOBIGNORE EXECIGNORE SHELLOPTS OPTIND
    OPTARG TAR_OPTIONS GZIP CC CXX LD MAKEFLAGS PWD OLDPWD USER LOGNAME"""
)
_SENSITIVE_STARTS = (
    *("LD_", "DYLD_", "BASH", "GIT_", "LESS", "PYTHON", "PERL", "RUBY", "NODE_", "NPM_", "npm_"),
    *("JAVA", "XDG_", "SSH_", "RIPGREP_", "JQ_", "GREP_", "GCONV", "NLSPATH", "LOCPATH", "MAN"),
    *(
        "ZDOTDIR",
        "ZSH",
        "READNULLCMD",
        "NULLCMD",
        "KUBECONFIG",
        "DOCKER_",
        "UNZIP",
        "GZIP",
        "XZ_",
        "BZIP",
        "PIP_",
        "CARGO",
    ),
)
_SENSITIVE_ENDS = ("PAGER", "EDITOR", "PATH", "OPTS", "OPTIONS", "COMMAND", "CONFIG", "FLAGS")


def is_sensitive(variable: str) -> bool:
    """Whether this variable can change the behaviour of other programs."""
    return (
        variable in _SENSITIVE
        or variable.startswith(_SENSITIVE_STARTS)
        or variable.endswith(_SENSITIVE_ENDS)
    )


def is_harmless(variable: str) -> bool:
    """Whether this variable only changes how programs format their output."""
    return variable in HARMLESS_VARIABLES or variable.startswith("LC_")


def family(name: str) -> str:
    """A program's name without its version: `python` for `python3.11`."""
    return name if name in KNOWN else name.rstrip("0123456789.-")


def asks_version(name: str, word: str) -> bool:
    """Whether a known program is only asked for its version or help."""
    base = family(name)
    asks = base in KNOWN and base not in _NO_VERSION | _LOADING and word in _VERSION
    return asks or (base, word) in _OWN_VERSIONS
