"""`muster init --from`: a template, shown before it is written."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from muster.cli.render import clean, table
from muster.cli.terminal import look
from muster.errors import Invalid, MusterError
from muster.settings.agent_programs import ClaudeSettings
from muster.templates.reading import TeamTemplate, packaged, program_text, read_template


def print_templates() -> None:
    """List the templates that come with muster."""
    found = [read_template(name, has_claude=True) for name in packaged()]
    rows = [(each.name, each.about) for each in found]
    click.echo(table(("TEMPLATE", "ABOUT"), rows, look()))


def read(source: str, runtime: str | None, home: Path) -> TeamTemplate:
    """Read a template for this machine, or for the runtime that was asked for."""
    wants = _has_claude(home) if runtime is None else runtime == "claude"
    template = read_template(source, has_claude=wants)
    if runtime is None and any(agent.script for agent in template.settings.agents.values()):
        click.echo("Claude Code is not installed here: agents that have a script say its lines.")
    return template


def _has_claude(home: Path) -> bool:
    from muster.runtimes.claude.program import installed_program  # slow

    try:
        installed_program(ClaudeSettings(), home.absolute().parent)
    except MusterError:
        return False
    return True


def show(template: TeamTemplate, *, whole: bool) -> None:
    """Print what a template is and runs; with `whole`, the file that would be written."""
    click.echo(clean(f"{template.name}: {template.about}" if template.about else template.name))
    for line in _summary(template):
        click.echo(f"  {clean(line)}")
    if whole:
        click.echo()
        for line in template.text.splitlines():
            click.echo(f"    {clean(line.expandtabs())}")
        click.echo()


def _summary(template: TeamTemplate) -> Iterator[str]:
    for name, agent in template.settings.agents.items():
        yield f"agent {name}: {program_text(agent)}{', starts by itself' * agent.autostart}"
    for name, channel in template.settings.channels.items():
        yield f"channel {name}: {', '.join(channel.members) or 'no members'}"


def ask(path: Path) -> None:
    """Ask whether to write the file that was shown."""
    if not sys.stdin.isatty():
        raise Invalid(what="muster init --from", why="asks first: read it, and repeat with --yes")
    click.confirm(f"Write this to {clean(str(path))}?", abort=True)
