"""`muster permit`: may a state make this tool call, by which rule, and who could do it instead."""

import json
import sys
from pathlib import Path

import click

from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.errors import BadSource, SettingsExist
from muster.permissions.judge import DENY, Verdict, judge
from muster.permissions.policy import DEFAULT, POLICY_FILE, Policy, PolicyError, dump, load

REFUSED = 3  # as every refusal


@click.command()
@click.option("--state", help="Who calls: MAIN, or an agent's name.")
@click.option("--tool", help="The tool that is called, such as Bash or Write.")
@click.option("--input", "given", help="What the tool is given, as a JSON object.")
@click.option("--cwd", type=click.Path(path_type=Path), help="The folder in which it is called.")
@click.option("--policy", type=click.Path(path_type=Path), help="The policy file.")
@click.option("--delegate", help="The agent to name in refusals.")
@click.option("--batch", is_flag=True, help="Judge every line of standard input, in order.")
@click.option("--init", "write", is_flag=True, help="Write a policy file with every default in it.")
@json_option("Print the verdict as JSON.")
@home_option
@click.pass_context
def permit(
    ctx: click.Context,
    state: str | None,
    tool: str | None,
    given: str | None,
    cwd: Path | None,
    policy: Path | None,
    delegate: str | None,
    batch: bool,
    write: bool,
    as_json: bool,
    home: Path,
) -> None:
    """Check a tool call against the permissions of a state.

    The exit code is 0 if it is allowed and 3 if it is not. With --batch every line of standard
    input is a call, {"state": ..., "tool": ..., "input": {...}, "cwd": ...}, and is answered by
    one line. The policy is permissions.json in the home, unless another is named.
    """
    path = policy or home / POLICY_FILE
    if write:
        _write(path)
        return
    rules = _policy(path, needed=policy is not None)
    if batch:
        _judge_lines(rules, delegate)
        return
    if state is None or tool is None or given is None:
        raise click.UsageError("Give --state, --tool and --input, or --batch, or --init.", ctx)
    where = None if cwd is None else str(cwd)
    verdict = judge(
        state, tool, _read_input(ctx, given), cwd=where, policy=rules, delegate=delegate
    )
    click.echo(_as_line(verdict) if as_json else _as_text(verdict))
    if verdict.decision == DENY:
        ctx.exit(REFUSED)


def _write(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(dump())
    except FileExistsError:
        raise SettingsExist(path=path) from None
    click.echo(f"Wrote {path}.")


def _policy(path: Path, *, needed: bool) -> Policy:
    """The policy in a file; where none is named and there is none, the default."""
    try:
        return load(path)
    except FileNotFoundError:
        if not needed:
            return DEFAULT
        remedy = "`muster permit --init` writes one."
        raise BadSource(path=path, what="there is no such file", remedy=remedy) from None
    except (PolicyError, UnicodeDecodeError) as wrong:
        remedy = "`muster permit --init --policy FILE` writes one to compare with."
        raise BadSource(path=path, what=str(wrong), remedy=remedy) from None


def _read_input(ctx: click.Context, given: str) -> object:
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as wrong:
        raise click.UsageError(f"--input is not JSON: {wrong}", ctx) from None


def _judge_lines(policy: Policy, delegate: str | None) -> None:
    """Answer every line at once, so that a program can keep this running and ask."""
    for line in sys.stdin.buffer:
        verdict = judge_line(line, policy, delegate)
        sys.stdout.write(_as_line(verdict) + "\n")
        sys.stdout.flush()


def judge_line(line: bytes, policy: Policy, delegate: str | None = None) -> Verdict:
    """Judge one line of a batch. What cannot be read is denied."""
    try:
        call: object = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        return Verdict(DENY, "input", f"The line is not JSON: {wrong}.", delegate)
    if not isinstance(call, dict):
        return Verdict(DENY, "input", "The line is not a JSON object.", delegate)
    fields: dict[str, object] = call  # pyright: ignore[reportUnknownVariableType]
    return judge(
        fields.get("state"),
        fields.get("tool"),
        fields.get("input"),
        cwd=fields.get("cwd"),
        policy=policy,
        delegate=delegate,
    )


def _as_line(verdict: Verdict) -> str:
    return json.dumps(verdict.as_dict())


def _as_text(verdict: Verdict) -> str:
    return f"{verdict.decision}  {verdict.rule}\n{clean(verdict.reason)}"
