"""`muster permit`: checks a tool call of a state, and names the rule and the policy.

The policy is the one that the hooks enforce in the project: that of the session's folder, found by
the same code. So `permit` and the hooks give the same verdict.
"""

import json
import os
import sys
from pathlib import Path

import click

from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.delegation.policy import REMEDY
from muster.errors import BadSource, SettingsExist
from muster.permissions.judge import DENY, Verdict, judge
from muster.permissions.policy import DEFAULT, POLICY_FILE, Policy, PolicyError, dump, load

REFUSED = 3  # as every refusal


@click.command()
@click.option("--state", help="The calling state: MAIN, or an agent's name.")
@click.option("--tool", help="The tool, such as Bash or Write.")
@click.option("--input", "given", help="The input of the tool, as a JSON object.")
@click.option("--cwd", type=click.Path(path_type=Path), help="The working directory of the call.")
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

    The exit code is 0 for allow and 3 for deny. With --batch every line of standard input is a
    call, {"state": ..., "tool": ..., "input": {...}, "cwd": ...}, and is answered by one line. The
    policy is permissions.json in the folder of the open session, which the hooks enforce; without
    a session, the one in the home; or the one that --policy names.
    """
    path = policy or _enforced(home) / POLICY_FILE
    if write:
        _write(path)
        return
    judging = _Judging(path, needed=policy is not None, delegate=delegate)
    if batch:
        _judge_lines(judging)
        return
    if state is None or tool is None or given is None:
        raise click.UsageError("Give --state, --tool and --input, or --batch, or --init.", ctx)
    where = None if cwd is None else str(cwd)
    verdict = judge(state, tool, _read_input(ctx, given), cwd=where, policy=judging.policy)
    click.echo(judging.as_line(verdict) if as_json else judging.as_text(verdict))
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


def _enforced(home: Path) -> Path:
    """The folder whose policy the hooks enforce; the home where no session is open."""
    # imported late: the other reading verbs do not need it
    from muster.claude_plugin.hooks.places import open_session

    project = Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    found = open_session(project, home) or open_session(home.resolve().parent, home)
    return home if found is None else found.root


class _Judging:
    """A policy, the file that it comes from, and the agent to name in refusals."""

    def __init__(self, path: Path, *, needed: bool, delegate: str | None) -> None:
        self.delegate = delegate
        self.source = str(path)
        try:
            self.policy = load(path)
        except FileNotFoundError:
            if needed:
                remedy = "`muster permit --init` writes one."
                raise BadSource(path=path, what="there is no such file", remedy=remedy) from None
            self.policy, self.source = DEFAULT, f"default, there is no {path}"
        except PolicyError as wrong:
            raise BadSource(path=wrong.path, what=wrong.what, remedy=REMEDY) from None

    def as_line(self, verdict: Verdict) -> str:
        return json.dumps({**verdict.as_dict(self.delegate), "policy": self.source})

    def as_text(self, verdict: Verdict) -> str:
        reason = clean(verdict.with_remedy(self.delegate))
        return f"{verdict.decision}  {verdict.rule}\n{reason}\nPolicy: {clean(self.source)}"


def _read_input(ctx: click.Context, given: str) -> object:
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as wrong:
        raise click.UsageError(f"--input is not JSON: {wrong}", ctx) from None


def _judge_lines(judging: _Judging) -> None:
    """Answer every line immediately, so that a program can keep this process running."""
    for line in sys.stdin.buffer:
        verdict = judge_line(line, judging.policy)
        sys.stdout.write(judging.as_line(verdict) + "\n")
        sys.stdout.flush()


def judge_line(line: bytes, policy: Policy) -> Verdict:
    """Judge one line of a batch. A line that cannot be read is denied."""
    try:
        call: object = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        return Verdict(DENY, "input", f"The line is not JSON: {wrong}.")
    if not isinstance(call, dict):
        return Verdict(DENY, "input", "The line is not a JSON object.")
    fields: dict[str, object] = call  # pyright: ignore[reportUnknownVariableType]
    return judge(
        fields.get("state"),
        fields.get("tool"),
        fields.get("input"),
        cwd=fields.get("cwd"),
        policy=policy,
    )
