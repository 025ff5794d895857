"""`muster send` and `retry`: a message from a person, and messages that are handed over again."""

from collections.abc import Sequence
from pathlib import Path

import click

from muster import limits
from muster.cli.acting import print_json, print_said, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.cli.texts import text_or_stdin
from muster.client import requests
from muster.client.sync import Client
from muster.errors import Invalid
from muster.machines.attachments import IMAGE_TYPES, media_type_of
from muster.regular_files import read_regular


@click.command()
@home_option
@json_option("Print the answer as JSON.")
@click.option("--to", metavar="AGENT", help="Send to this agent only.")
@click.option("--channel", metavar="C", help="Send to this channel.")
@click.option(
    "--reply-to", type=int, metavar="N", help="Answer message number N of the same channel."
)
@click.option(
    "--file",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Attach a file; repeatable.",
)
@click.option(
    "--image",
    "images",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Attach a PNG, JPEG, GIF or WebP image that Claude Code sees; repeatable.",
)
@click.argument("text")
def send(
    home: Path,
    as_json: bool,
    to: str | None,
    channel: str | None,
    reply_to: int | None,
    paths: Sequence[Path],
    images: Sequence[Path],
    text: str,
) -> None:
    """Send a message to an agent, a channel or the lead.

    With TEXT `-` it is read from standard input. It prints what happened to the turn.
    """
    if to is not None and channel is not None:
        raise click.UsageError("--to and --channel exclude each other.")
    text = text_or_stdin(text)
    contents = [(path, _content(path)) for path in paths]
    contents += [(path, _image(path)) for path in images]
    with server(home) as client:
        files = [_uploaded(client, path, each) for path, each in contents]
        message = requests.send(text, to=to, channel=channel, reply_to=reply_to, files=files)
        print_said(client.ask(message), as_json)


@click.command()
@home_option
@json_option("Print the state of the agent as JSON.")
@click.argument("agent")
def retry(home: Path, as_json: bool, agent: str) -> None:
    """Hand an agent the messages again that it left unanswered.

    muster itself does so once, after a session that failed. An agent that waits for its next try,
    or is paused, is started.
    """
    with server(home) as client:
        run = client.ask(requests.retry(agent))
    if as_json:
        print_json(run)
    else:
        click.echo(f"{clean(run.agent)} gets its unanswered messages again.")


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, bytes_max=limits.FILE_BYTES_MAX)
    except OSError as error:
        raise Invalid(what=f"the file {str(path)!r}", why=f"cannot be attached: {error}") from error


def _image(path: Path) -> bytes:
    content = _content(path)
    if media_type_of(path.name, content) not in IMAGE_TYPES:
        why = (
            "must be a whole PNG, JPEG, GIF or WebP image, by its content and its name, of up to"
            f" {limits.IMAGE_SIDE_MAX} pixels a side. Use --file for any other file"
        )
        raise Invalid(what=f"the file {str(path)!r}", why=why)
    if len(content) > limits.IMAGE_BYTES_MAX:
        why = f"is an image of over {limits.IMAGE_BYTES_MAX} bytes. Make it smaller, or use --file"
        raise Invalid(what=f"the file {str(path)!r}", why=why)
    return content


def _uploaded(client: Client, path: Path, content: bytes) -> str:
    return client.ask(requests.upload_file(path.name, content)).digest
