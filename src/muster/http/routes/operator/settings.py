"""Settings over HTTP: the agents' tables in force, edits of the file, programs, templates.

Only operators: an agent's table holds a command that muster runs, and variables that may be secret.
An edit is validated as a whole, previewed or written, and on record with its author.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from muster.errors import BadSettings, NotFound, Refused, TeamInSettings
from muster.http.changing import effect_of_change, has_session, known_agent, table_name
from muster.http.routing import OPERATOR, ApiCall, route
from muster.http.types import Query, StrictBody
from muster.limits import DISMISSAL_SECONDS
from muster.machines.commands import RenameAgent, SetDesired
from muster.machines.identity.membership import rename_agent as decide_rename
from muster.machines.ids import name_key
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.reloading.editing import Edit, version_of
from muster.settings import writing
from muster.settings.agents import CLAUDE, AgentSettings
from muster.settings.file import text_of
from muster.settings.in_force import follow
from muster.templates.reading import TeamTemplate, packaged, program_text, read_template
from muster.views.answers.settings import (
    AgentTable,
    ProgramList,
    ProgramView,
    SettingsEdited,
    SettingsMistake,
    SettingsView,
    TemplateAgent,
    TemplateList,
    TemplateView,
)

Values = dict[str, Any]
"""Settings of an agent by their dotted keys, such as `budget.cost_usd`. Any: each has its type,
which the settings check."""


@route("GET", "/api/settings", may=OPERATOR)
async def show_settings(call: ApiCall) -> SettingsView:
    """Show the settings in force: the agents' tables, a mistake in the file, and what waits."""
    live = call.muster.settings
    outdated = {call.team.agents[seat].id for seat in live.outdated}
    known = (
        AgentTable(name=name, settings=_written(agent), next_session=name in outdated)
        for name, agent in live.in_force.written.agents.items()
    )
    found = live.in_force.problem
    return SettingsView(
        path=None if live.path is None else str(live.path),
        version=_version(call),
        agents=tuple(known),
        problem=found and SettingsMistake(line=found.line, what=found.what, remedy=found.remedy),
        waiting=live.in_force.waiting,
    )


def _written(agent: AgentSettings) -> Values:
    """The settings of an agent that are not the default, by their keys."""
    shown: Values = {}
    for name, value in _differing(agent, AgentSettings()):
        if isinstance(value, msgspec.Struct):
            parts = _differing(value, type(value)())
            shown.update({f"{name}.{key}": content for key, content in parts})
        else:
            shown[name] = value
    return shown


def _differing(found: msgspec.Struct, default: msgspec.Struct) -> Iterator[tuple[str, object]]:
    for name in found.__struct_fields__:
        if getattr(found, name) != getattr(default, name):
            yield name, getattr(found, name)


def _version(call: ApiCall) -> str:
    path = call.muster.settings.path
    try:
        return version_of((path and text_of(path)) or "")
    except (OSError, BadSettings):  # it cannot be read: `problem` says why
        return ""


@route("GET", "/api/runtimes", may=OPERATOR)
async def list_programs(call: ApiCall) -> ProgramList:
    """List the programs for agents on this machine: Claude Code and others, found or not."""
    found = await call.muster.detect_programs()
    return ProgramList(
        programs=tuple(
            ProgramView(
                runtime=each.runtime,
                label=each.label,
                is_found=bool(each.program),
                program=each.program,
                version=each.version,
                command=each.command,
                preset=each.preset,
                enforcement=each.enforcement,
                remedy=each.remedy,
                lacks_sign_in=each.lacks_sign_in,
            )
            for each in found
        )
    )


# ── edits ─────────────────────────────────────────────────────────────────────────────────────────


class EditBody(StrictBody, frozen=True, kw_only=True):
    """An edit of the settings file."""

    preview: bool = False
    """Whether to validate and show the edit, and write nothing."""

    version: str | None = None
    """The version of the file that the edit was made for; another is refused."""


class AddAgentBody(EditBody, frozen=True, kw_only=True):
    """A new agent."""

    name: str
    settings: Values
    start: bool = False
    """Whether to let it run right away."""


class ChangeAgentBody(EditBody, frozen=True, kw_only=True):
    """Settings of an agent to set and to remove, by their keys below its table."""

    settings: Values = msgspec.field(default_factory=dict)
    unset: tuple[str, ...] = ()


class RenameAgentBody(EditBody, frozen=True, kw_only=True):
    """Another name for an agent."""

    name: str


class RemovalQuery(Query, frozen=True, kw_only=True):
    """How to remove an agent."""

    preview: bool = False
    version: str | None = None


@route("POST", "/api/settings/agents", may=OPERATOR, status=201)
async def add_agent(call: ApiCall, body: AddAgentBody) -> SettingsEdited:
    """Add an agent to the settings file; `start` lets it run."""
    edit = partial(writing.add_agent, name=body.name, values=body.settings)
    starts = body.start or body.settings.get("autostart") is True
    effect = f"{body.name} is {'started' if starts else 'added, paused'}"
    await _refuse_unfollowed(call, edit, body)
    done = await _edit(call, edit, body, body.name, effect)
    if body.start and not body.preview and _refusal(call, body.name) is None:
        agent = call.agent(body.name)
        wish = SetDesired(
            seat=agent.seat, desired=RunMode.CONTINUOUS, set_by=call.speaker, note="added"
        )
        await call.send_more(wish)
    return done


@route("PATCH", "/api/settings/agents/{name}", may=OPERATOR)
async def change_agent(call: ApiCall, name: str, body: ChangeAgentBody) -> SettingsEdited:
    """Set and remove settings of an agent in the settings file."""
    name = table_name(call, name)
    edit = partial(writing.change_agent, name=name, values=body.settings, unset=body.unset)
    done = await _edit(call, edit, body, name, "")
    return msgspec.structs.replace(done, effect=effect_of_change(call, name, preview=body.preview))


@route("DELETE", "/api/settings/agents/{name}", may=OPERATOR)
async def remove_agent(call: ApiCall, name: str, query: RemovalQuery) -> SettingsEdited:
    """Remove an agent from the settings file: its session ends, its history stays."""
    name = table_name(call, name)
    effect = f"{name} leaves the team; its history stays, and adding it again brings it back"
    if has_session(call, name):
        within = f"its session may end by itself within {DISMISSAL_SECONDS:g} s, then it is stopped"
        effect = f"{within}; {effect}"
    edit = partial(writing.remove_agent, name=name)
    return await _edit(
        call, edit, EditBody(preview=query.preview, version=query.version), name, effect
    )


@route("POST", "/api/settings/agents/{name}/rename", may=OPERATOR)
async def rename_agent(call: ApiCall, name: str, body: RenameAgentBody) -> SettingsEdited:
    """Rename an agent, in the settings file if it is named there. Its seat and history stay."""
    name = table_name(call, name)
    agent, table = _agent_of_table(call, name)
    command = None if agent is None else RenameAgent(seat=agent.seat, name=body.name)
    if command is not None:
        decide_rename(call.team, command, call.muster.clock.now())  # refused before it is written
    effect = f"{name} is called {body.name}; a program that runs learns it at its next session"
    if table is not None:
        edit = partial(writing.rename_agent, name=table, new=body.name)
        return await _edit(call, edit, body, body.name, effect)
    if command is None:
        raise NotFound(kind="agent", name=name)
    if not body.preview:
        await call.send(command)
    version = _version(call)
    return SettingsEdited(
        name=body.name, preview=body.preview, difference="", version=version, effect=effect
    )


def _agent_of_table(call: ApiCall, name: str) -> tuple[Agent | None, str | None]:
    """An agent by the name of its table or its own, and the name of its table.

    The two differ where the table's name belongs to another agent.
    """
    in_force = call.muster.settings.in_force
    seat = in_force.followed.seat_of(name)
    agent = known_agent(call, name) if seat is None else call.team.agents[seat]
    table = None if agent is None else in_force.followed.table_about(agent.seat)
    written = (each for each in in_force.written.agents if name_key(each) == name_key(name))
    return agent, table or next(written, None)


async def _refuse_unfollowed(call: ApiCall, edit: Edit, body: AddAgentBody) -> None:
    """Refuse a new table that the team could not follow, before it is written."""
    edited = await call.muster.settings.preview(edit, version=body.version)
    refused = follow(call.muster.team, edited.settings).refusal_of(body.name)
    if refused is not None:
        raise refused


def _refusal(call: ApiCall, name: str) -> Refused | None:
    """The reason why a table that was written is not followed: somebody was faster."""
    return call.muster.settings.in_force.followed.refusal_of(name)


async def _edit(
    call: ApiCall, edit: Edit, body: EditBody, name: str, effect: str
) -> SettingsEdited:
    live = call.muster.settings
    if body.preview:
        edited = await live.preview(edit, version=body.version)
    else:
        edited = await live.edit(edit, actor=call.caller.actor, version=body.version)
        refused = _refusal(call, name)
        effect = effect if refused is None else f"it cannot be followed now. {refused}"
    return SettingsEdited(
        name=name,
        preview=body.preview,
        difference=edited.difference,
        version=version_of(edited.before if body.preview else edited.after),
        effect=effect,
    )


# ── templates ─────────────────────────────────────────────────────────────────────────────────────


class TemplateBody(EditBody, frozen=True, kw_only=True):
    """A template to start with."""

    name: str
    without_model: bool = False
    """Whether agents that have a script say its lines, although Claude Code is installed."""


@route("GET", "/api/templates", may=OPERATOR)
async def list_templates(call: ApiCall) -> TemplateList:
    """List the teams that come with muster, as they would run on this machine."""
    has_claude = await _has_claude(call)
    found = (read_template(name, has_claude=has_claude) for name in packaged())
    return TemplateList(templates=tuple(map(_shown, found)))


@route("POST", "/api/settings/template", may=OPERATOR, status=201)
async def start_from_template(call: ApiCall, body: TemplateBody) -> SettingsEdited:
    """Write a template into a settings file that has no agents and no channels yet."""
    if body.name not in packaged():  # a name is no path: files are read by `muster init --from`
        raise NotFound(kind="template", name=body.name)
    has_claude = not body.without_model and await _has_claude(call)
    template = read_template(body.name, has_claude=has_claude)
    starts = [name for name, agent in template.settings.agents.items() if agent.autostart]
    effect = f"{' and '.join(starts)} start" if starts else "the agents are added, paused"
    current = call.muster.settings.current
    if current.agents or current.channels:
        raise TeamInSettings()
    return await _edit(call, _beginning(template), body, body.name, effect)


def _beginning(template: TeamTemplate) -> Edit:
    return lambda before: f"{before.rstrip()}\n\n{template.text}" if before else template.text


async def _has_claude(call: ApiCall) -> bool:
    found = await call.muster.detect_programs()
    return any(each.runtime == CLAUDE and each.program for each in found)


def _shown(template: TeamTemplate) -> TemplateView:
    settings, scripted = template.settings, read_template(template.name, has_claude=False)
    return TemplateView(
        name=template.name,
        about=template.about,
        agents=tuple(
            TemplateAgent(name=name, description=agent.description, runs=program_text(agent))
            for name, agent in settings.agents.items()
        ),
        channels=tuple(settings.channels),
        text=template.text,
        needs_model=settings.agents != scripted.settings.agents,
    )
