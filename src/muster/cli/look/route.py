"""`muster route` and `muster agent-list`: the agent for a request, and a list of all agents.

No team and no server are needed: both read agent files, and `muster route` the remembered choices.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.cli.texts import text_or_stdin
from muster.errors import Invalid, MusterError
from muster.routing.agent_files import AgentFile, AgentFolders, Warned
from muster.routing.choices import CHOICE, PastChoice
from muster.routing.directory import DIRECTORY_FILE, LIST_FILE, directory_text, list_text
from muster.routing.lexical import Scored, typed_words
from muster.routing.request import ParsedRequest
from muster.routing.router import Candidate, Decision, Router, explained

LEXICAL: Final = "lexical"
EMBED: Final = "embed"
COMMAND: Final = "command:"
COMMAND_SECONDS: Final = 30.0
"""Timeout of a user's own router for one request."""

_agents_option = click.option(
    "--agents",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder with agents; comes before .claude/agents of the project and of the user.",
)


@click.command()
@_agents_option
@click.option("--batch", is_flag=True, help="Route every line of standard input, in order.")
@click.option("--no-bodies", is_flag=True, help="Use names and descriptions only.")
@click.option(
    "--router",
    "kind",
    default=LEXICAL,
    metavar="R",
    help="lexical, embed, or command:PROGRAM with a program of your own.",
)
@json_option("Print the decision as JSON.")
@home_option
@click.argument("text", required=False)
@click.pass_context
def route(
    ctx: click.Context,
    folders: tuple[Path, ...],
    batch: bool,
    no_bodies: bool,
    kind: str,
    as_json: bool,
    home: Path,
    text: str | None,
) -> None:
    """Decide which agent a request is for, and explain why.

    Routing uses the agents' descriptions and the choices of people in this folder, without a model;
    a request that matches none is for MAIN. With TEXT `-` it is read from standard input. With
    --batch every line of standard input is {"agents_dir": ..., "query": ...}, answered by {"agent":
    ..., "confidence": ...}.
    """
    if batch:
        _route_lines(_maker(kind, bodies=not no_bodies))
        return
    if text is None:
        raise click.UsageError("Give a TEXT, or --batch.", ctx)
    found = _found(folders)
    _warn(found.warnings)
    make = _maker(kind, bodies=not no_bodies, choices=_choices(home))
    decision = make(found.agents).route(text_or_stdin(text))
    click.echo(json.dumps(_as_json(decision)) if as_json else "\n".join(_shown(decision)))


def _found(folders: Sequence[Path]) -> AgentFolders:
    """The agents that a session in this folder would have."""
    from muster.delegation.agent_folders import find_agents

    return find_agents(folders, project=Path.cwd(), user=Path.home())


def _choices(home: Path) -> Sequence[PastChoice]:
    """The choices that people made in this folder."""
    from muster.delegation.conversations import past_choices
    from muster.delegation.visiting import earlier_choices

    return past_choices(earlier_choices(Path.cwd(), home))


@click.command(name="agent-list")
@_agents_option
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def agent_list(folders: tuple[Path, ...], folder: Path) -> None:
    """Write agent-list.txt and AGENT_DIRECTORY.md into a folder.

    They name every agent of the given folders, of the project and of the user, each name once.
    """
    found = _found(folders)
    _warn(found.warnings)
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / LIST_FILE, list_text(found.agents))
    _replace(folder / DIRECTORY_FILE, directory_text(found.agents))
    click.echo(f"Wrote {len(found.agents)} agents to {clean(str(folder))}.")


def _warn(warnings: Sequence[Warned]) -> None:
    for warning in warnings:
        click.echo(f"muster: warning: {clean(str(warning))}", err=True)


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# ── a decision, shown ─────────────────────────────────────────────────────────────────────────────


def _shown(decision: Decision) -> Iterator[str]:
    yield clean(explained(decision))
    if not decision.candidates:
        return
    yield f"confidence {decision.confidence:.2f}, margin {decision.margin:.2f}"
    width = max(len(clean(each.agent)) for each in decision.candidates)
    for each in decision.candidates:
        words = ", ".join(_word(each))
        yield clean(f"{each.score:7.2f}  {each.agent:<{width}}  {words}").rstrip()


def _word(candidate: Candidate) -> Iterator[str]:
    for each in typed_words(candidate.evidence, most=4):
        if each.where == CHOICE:
            yield each.typed
            continue
        concept = f" ~ {each.term[1:]}" if each.term.startswith("#") else ""
        yield f"{each.typed}{concept} ({each.where})"


def _as_json(decision: Decision) -> dict[str, object]:
    return {
        "agent": decision.agent,
        "confidence": decision.confidence,
        "margin": decision.margin,
        "ambiguous": decision.ambiguous,
        "rule": decision.rule,
        "reason": decision.reason,
        "router": decision.router,
        "candidates": [
            {
                "agent": each.agent,
                "score": each.score,
                "reason": each.reason,
                "evidence": [
                    {
                        "typed": piece.typed,
                        "term": piece.term,
                        "credit": round(piece.credit, 3),
                        "where": piece.where,
                    }
                    for piece in typed_words(each.evidence, most=10)
                ],
            }
            for each in decision.candidates
        ],
    }


# ── many decisions ────────────────────────────────────────────────────────────────────────────────


def _route_lines(make: Callable[[Sequence[AgentFile]], Router]) -> None:
    """Answer each line before the next is read; a folder is indexed when it is first named."""
    routers: dict[str, Router] = {}
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            answer = _answer(line, routers, make)
        except MusterError as failed:
            answer = {"error": str(failed)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(
    line: bytes, routers: dict[str, Router], make: Callable[[Sequence[AgentFile]], Router]
) -> dict[str, object]:
    folder, query = _asked(line)
    if folder not in routers:
        found = _read(Path(folder))
        _warn(found.warnings)
        routers[folder] = make(found.agents)
    decision = routers[folder].route(query)
    return {"agent": decision.agent, "confidence": decision.confidence}


def _read(folder: Path) -> AgentFolders:
    if not folder.is_dir():
        raise Invalid(what=f"'agents_dir' {str(folder)!r}", why="is not a folder")
    from muster.delegation.agent_folders import read_agents

    return read_agents([folder])


def _asked(line: bytes) -> tuple[str, str]:
    try:
        asked: Any = json.loads(line)  # any JSON value
    except ValueError as wrong:
        raise Invalid(what="The line", why=f"is not JSON ({wrong})") from None
    match asked:
        case {"agents_dir": str() as folder, "query": str() as query}:
            return folder, query
        case _:
            raise Invalid(what="The line", why="needs 'agents_dir' and 'query', both strings")


# ── which router ──────────────────────────────────────────────────────────────────────────────────


def _maker(
    kind: str, *, bodies: bool, choices: Sequence[PastChoice] = ()
) -> Callable[[Sequence[AgentFile]], Router]:
    """The factory of the requested kind of router."""
    if kind == LEXICAL:
        return lambda agents: Router(agents, bodies=bodies, choices=choices)
    if kind == EMBED:
        from muster.routing.embedding import EmbeddingIndex, static_vectors

        vectors = static_vectors()
        return lambda agents: Router(
            agents, scorer=EmbeddingIndex(agents, vectors, bodies=bodies), name=EMBED
        )
    program = shlex.split(kind.removeprefix(COMMAND)) if kind.startswith(COMMAND) else []
    if not program:
        why = f"is not a router; choose one of {LEXICAL}, {EMBED} and {COMMAND}PROGRAM"
        raise Invalid(what=f"{kind!r}", why=why)
    return lambda agents: Router(
        agents, scorer=_Program(program, agents), sure=_told, name=COMMAND.rstrip(":")
    )


def _told(request: ParsedRequest, ranked: Sequence[Scored]) -> float:
    """A program's scores are probabilities already."""
    return min(max(ranked[0].score, 0.0), 1.0) if ranked else 0.0


class _Program:
    """A scorer of the user's own: it is given JSON and answers `{"scores": {name: 0..1}}`."""

    words: frozenset[str] = frozenset()

    def __init__(self, command: Sequence[str], agents: Sequence[AgentFile]) -> None:
        self._command = command
        self._numbers = {agent.name: at for at, agent in enumerate(agents) if agent.routable}
        self._agents = [
            {"name": agents[at].name, "description": agents[at].description}
            for at in self._numbers.values()
        ]

    def score(self, request: ParsedRequest) -> list[Scored]:
        asked = json.dumps({"query": request.text, "agents": self._agents})
        try:
            ran = subprocess.run(
                self._command,
                input=asked.encode(),
                stdout=subprocess.PIPE,
                timeout=COMMAND_SECONDS,
                check=True,
            )
            scores: dict[str, float] = {
                str(name): float(score) for name, score in json.loads(ran.stdout)["scores"].items()
            }
        except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as failed:
            what = f"The router {shlex.join(self._command)!r}"
            raise Invalid(what=what, why=f"gave no scores ({failed})") from failed
        known = [
            (self._numbers[name], each) for name, each in scores.items() if name in self._numbers
        ]
        ranked = sorted(known, key=lambda pair: (-pair[1], pair[0]))
        return [Scored(agent, score, ()) for agent, score in ranked if score > 0]
