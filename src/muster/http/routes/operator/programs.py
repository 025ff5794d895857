"""The model and the mode of an agent's program over HTTP, whatever its runtime calls them.

A choice is an edit of the settings file, so it also holds for the next session. A running Claude
Code takes it over at once, also if a command in the session (`/mode`) had changed it.
"""

from collections.abc import Collection, Iterator
from functools import partial

from msgspec import structs

from muster.errors import NoSuchChoice, NotFound
from muster.http.changing import NEXT_SESSION, effect_of_change, known_agent, present_name
from muster.http.routing import OPERATOR, ApiCall, route
from muster.http.types import StrictBody
from muster.machines.ids import name_key
from muster.settings import writing
from muster.settings.agent_programs import PROGRAM_CHOICES, ProgramChoices
from muster.settings.agents import AgentSettings
from muster.views.answers.settings import ProgramChoice


class ChooseProgramBody(StrictBody, frozen=True, kw_only=True):
    """Another model or mode; an empty text means the program's default."""

    model: str | None = None
    mode: str | None = None


@route("GET", "/api/settings/agents/{name}/program", may=OPERATOR)
async def show_program(call: ApiCall, name: str) -> ProgramChoice:
    """Show the model and the mode of an agent's program; none if muster.toml does not name it."""
    found = _find(call, name)
    if found is None:
        return ProgramChoice(name=call.agent(name).id, runtime="", model=None, mode=None)
    return _shown(call, *found)


@route("PATCH", "/api/settings/agents/{name}/program", may=OPERATOR)
async def choose_program(call: ApiCall, name: str, body: ChooseProgramBody) -> ProgramChoice:
    """Choose the model or the mode of an agent's program, now and for later sessions."""
    name, settings = _table(call, name)
    wanted = dict(_wanted(name, settings, body))
    values = {key: value for key, value in wanted.items() if value}
    unset = [key for key in wanted if key not in values and _value(settings, key) != _default(key)]
    edit = partial(writing.change_agent, name=name, values=values, unset=unset)
    await call.muster.settings.edit(edit, actor=call.caller.actor)
    name, settings = _table(call, name)
    await _choose_now(call, name, settings, wanted)
    shown = _shown(call, name, settings)
    kept = (body.model, shown.running_model), (body.mode, shown.running_mode)
    is_refused = any(chosen is not None and running is not None for chosen, running in kept)
    effect = NEXT_SESSION if is_refused else effect_of_change(call, name)
    return structs.replace(shown, effect=effect)


async def _choose_now(
    call: ApiCall, name: str, settings: AgentSettings, keys: Collection[str]
) -> None:
    """Hand the chosen values to the running session, which may differ from unchanged settings."""
    agent, choices = known_agent(call, name), PROGRAM_CHOICES.get(settings.runtime)
    if agent is None or choices is None:
        return
    model, mode = (
        _value(settings, key) if key in keys else None for key in (choices.model, choices.mode)
    )
    await call.muster.sessions.choose_program(agent, model=model, mode=mode)


def _wanted(
    name: str, settings: AgentSettings, body: ChooseProgramBody
) -> Iterator[tuple[str, str]]:
    """The settings that a request chooses, by their keys."""
    chosen = PROGRAM_CHOICES.get(settings.runtime, ProgramChoices(""))
    wanted = (("model", chosen.model, body.model), ("mode", chosen.mode, body.mode))
    for what, key, value in wanted:
        if value is not None:
            if not key:
                raise NoSuchChoice(agent=name, runtime=settings.runtime, what=what)
            yield key, value


def _shown(call: ApiCall, name: str, settings: AgentSettings) -> ProgramChoice:
    chosen = PROGRAM_CHOICES.get(settings.runtime, ProgramChoices(""))
    agent = known_agent(call, name)
    running = None if agent is None else call.muster.sessions.program_of(agent)
    model = _value(settings, chosen.model) if chosen.model else None
    mode = _value(settings, chosen.mode) if chosen.mode else None
    return ProgramChoice(
        name=name,
        runtime=settings.runtime,
        model=model,
        mode=mode,
        running_model=running.model if running and running.model != model else None,
        running_mode=running.mode if running and running.mode != mode else None,
        modes=chosen.modes,
    )


def _table(call: ApiCall, name: str) -> tuple[str, AgentSettings]:
    found = _find(call, name)
    if found is None:
        raise NotFound(kind="agent in muster.toml", name=name)
    return found


def _find(call: ApiCall, name: str) -> tuple[str, AgentSettings] | None:
    """The agent's name in the settings, and its table there."""
    name = present_name(call, name)
    tables = call.muster.settings.current.agents.items()
    return next((each for each in tables if name_key(each[0]) == name_key(name)), None)


def _default(key: str) -> str:
    return _value(AgentSettings(), key)


def _value(settings: AgentSettings, key: str) -> str:
    table, _, field = key.partition(".")
    return str(getattr(getattr(settings, table), field))
