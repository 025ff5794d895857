"""`muster diagram`: a state machine as Mermaid, drawn from the tables that decide."""

import click

from muster.machines.kernel.diagrams import mermaid
from muster.machines.vocabulary import Machine


@click.command()
@click.argument("machine", type=click.Choice([str(machine) for machine in Machine]))
def diagram(machine: str) -> None:
    """Draw a state machine as a Mermaid diagram.

    Paste it into anything that shows Mermaid: a code host, an editor, a wiki.
    """
    click.echo(mermaid(machine))
