"""`muster completion`: the completion script of a shell."""

from typing import Final

import click

from muster.cli.main import COMPLETE_VARIABLE, cli

# the \b tells click to keep the lines as they are
_HELP: Final = """Print a completion script for your shell.

\b
bash:  eval "$(muster completion bash)"     in ~/.bashrc
zsh:   eval "$(muster completion zsh)"      in ~/.zshrc
fish:  muster completion fish | source      in ~/.config/fish/config.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that click generates for the shell."""
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None  # the three shells that click knows
    click.echo(maker(cli, {}, "muster", COMPLETE_VARIABLE).source())
