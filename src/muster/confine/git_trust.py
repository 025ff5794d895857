"""Variables that keep git from running programs that a repository names.

A folder of a clone can hold the files of a bare repository, with a configuration of its own: git
would find it there, and `git status` would run the monitor that it names. So git takes no bare
repository that it was not told of, and the settings by which reading starts a program have values
that come before those of any repository.
"""

from __future__ import annotations

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
    "diff.ignoreSubmodules": "dirty",  # or git starts another git in each, without these settings
}


def git_variables() -> dict[str, str]:
    """The variables of the environment, for every git that a command starts."""
    variables = {"GIT_CONFIG_COUNT": str(len(_SETTINGS)), "GIT_PROXY_COMMAND": ""}
    for number, (name, value) in enumerate(_SETTINGS.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
