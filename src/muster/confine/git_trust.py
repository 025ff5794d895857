"""Variables that keep git from running programs that a repository names.

A folder of a clone can hold the files of a bare repository, with a configuration of its own: git
would find it there, and `git status` would run the monitor that it names. So git takes no bare
repository that it was not told of, and the settings by which reading starts a program have values
that come before those of any repository. `git.sh` does the same for settings whose names a
repository chooses, such as `diff.NAME.textconv`.
"""

from __future__ import annotations

import os

_SCRIPT = f"{__file__.rpartition('/')[0]}/git.sh"

_SETTINGS = {
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "ssh",
    "protocol.ext.allow": "never",
    "log.showSignature": "false",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "help.format": "man",
    "status.submoduleSummary": "false",
    "diff.ignoreSubmodules": "dirty",  # or git starts another git in each, by its own settings
    "diff.submodule": "short",
}


def git_variables() -> dict[str, str]:
    """The variables of the environment, for every git that a command starts."""
    variables = {
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
        "GIT_PROXY_COMMAND": "",
        "GIT_PAGER": "cat",  # comes before `pager.log` and its like
        "GIT_NO_LAZY_FETCH": "1",
    }
    for number, (name, value) in enumerate(_SETTINGS.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def install_git(folder: str) -> None:
    """Make the git of confined lines in a folder, which comes first in their PATH."""
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    aside = f"{folder}/.git.{os.getpid()}"
    with open(_SCRIPT, "rb") as script, open(aside, "wb") as file:  # noqa: PTH123
        file.write(script.read())
    os.chmod(aside, 0o755)  # noqa: PTH101
    os.replace(aside, f"{folder}/git")  # noqa: PTH105
