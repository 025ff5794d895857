"""The command line: finds the verb, and turns errors into messages and exit codes.

Verbs live in their own modules (`verbs.py` says which) and are imported when they are called. Each
error has its own message and exit code (`errors.py`, `docs/reference/exit-codes.md`).
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from muster.cli.render import clean
from muster.cli.texts import has_stray_bytes, take_as_utf8
from muster.cli.verbs import HIDDEN, SECTIONS, VERBS
from muster.errors import Broken, MusterError
from muster.version import __version__

OK: Final = 0
USAGE: Final = 2
BUG: Final = Broken.exit_code
INTERRUPTED: Final = 130  # what shells report for a program that Ctrl-C ended

COMPLETE_VARIABLE: Final = "_MUSTER_COMPLETE"  # set by the scripts that `muster completion` prints

_EXAMPLES: Final = """
Examples:
  muster init && muster up            write the settings, then run the team
  muster status                       who is here, and whose turn it is
  muster log --follow --agent Lyra    what Lyra does, as it happens
  muster why Lyra                     how Lyra came to be in its state
"""


class VerbGroup(click.Group):
    """A command group that imports a verb's module lazily, and lists verbs in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, without importing any."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and take the command of that name."""
        from importlib import import_module

        verb = VERBS.get(cmd_name) or HIDDEN.get(cmd_name)
        if verb is None:
            return None
        _import_msgspec()
        module = import_module(f"{__package__}.{verb.module}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        command.short_help = verb.about
        take_as_utf8(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; suggest the nearest one for an unknown name."""
        if args[0] not in (*VERBS, *HIDDEN) and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"Unknown verb {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs in their sections."""
        for section in SECTIONS:
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (f"{name:<10}", verb.about)
                        for name, verb in VERBS.items()
                        if verb.section == section
                    ],
                    col_max=12,
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Close with examples, as they are typed."""
        formatter.write(_EXAMPLES)


def _import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which it takes where it is installed and does not
    need: loading that takes a tenth of a fast verb's time.
    """
    from importlib import import_module

    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # pyright: ignore[reportArgumentType]
        import_module("msgspec")
        del sys.modules["typing_extensions"]


@click.group(
    cls=VerbGroup,
    invoke_without_command=True,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="MUSTER_HOME",
    default=".muster",
    show_envvar=True,
    show_default=True,
    help="Folder of the team; accepted after the verb too.",
)
@click.version_option(__version__, prog_name="muster", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, home: Path) -> None:
    """The control plane for a team of AI agents.

    For every agent: who is it, should it run, may it speak, who does the work. Each answer is an
    explicit state, and every change of state is an event in one durable log.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(args: Sequence[str]) -> int:
    """Run the command line, and return its exit code."""
    try:
        code = _invoke(args)
        sys.stdout.flush()
    except click.UsageError as wrong:
        return _complain(wrong.format_message(), USAGE, hint=_usage_hint(wrong))
    except click.ClickException as failed:
        return _complain(failed.format_message(), USAGE)
    except MusterError as failed:
        return _complain(str(failed), failed.exit_code)
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as failed:
        return _file_failed(failed)
    except UnicodeEncodeError:
        return _unencodable(args)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception:
        return _bug()
    return code


def _invoke(args: Sequence[str]) -> int:
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "muster", COMPLETE_VARIABLE, instruction)
    try:
        with cli.make_context("muster", list(args)) as ctx:
            code = cli.invoke(ctx)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return code if isinstance(code, int) else OK


def _complain(message: str, code: int, hint: str = "") -> int:
    """Print an error. The message may quote an agent, so control characters are escaped."""
    click.echo(f"muster: {clean(message)}{hint}", err=True)
    return code


def _file_failed(failed: OSError) -> int:
    from muster.home.faults import file_fault  # seldom needed

    fault = file_fault(failed)
    return _complain(str(fault), fault.exit_code)


def _unencodable(args: Sequence[str]) -> int:
    """Refuse a path that a request or a file of muster cannot carry."""
    stray = next(filter(has_stray_bytes, args), None)
    if stray is None:
        return _bug()
    return _complain(f"{stray!r} has bytes that are no UTF-8.", USAGE)


def _bug() -> int:
    """Print the traceback, and ask for a report."""
    from traceback import print_exc

    print_exc()
    return _complain("this is a bug in muster; please report it with the traceback above.", BUG)


def _usage_hint(wrong: click.UsageError) -> str:
    return f"\nTry '{wrong.ctx.command_path} --help'." if wrong.ctx else ""


def _pipe_closed() -> int:
    """Redirect stdout to /dev/null after a closed pipe: Python flushes once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return OK
