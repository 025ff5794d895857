"""The model and the mode of an agent's program over HTTP, whatever its runtime calls them.

A choice is an edit of the settings file, so it also holds for the next session. A running Claude
Code takes it over at once.
"""

from collections.abc import Iterator
from functools import partial

from muster.errors import NoSuchChoice, NotFound
from muster.http.changing import effect_of_change
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
    return _shown(*found)


@route("PATCH", "/api/settings/agents/{name}/program", may=OPERATOR)
async def choose_program(call: ApiCall, name: str, body: ChooseProgramBody) -> ProgramChoice:
    """Choose the model or the mode of an agent's program, now and for later sessions."""
    name, settings = _table(call, name)
    wanted = dict(_wanted(name, settings, body))
    values = {key: value for key, value in wanted.items() if value}
    unset = [key for key in wanted if key not in values and _value(settings, key) != _default(key)]
    edit = partial(writing.change_agent, name=name, values=values, unset=unset)
    await call.muster.settings.edit(edit, actor=call.caller.actor)
    return _shown(*_table(call, name), effect_of_change(call, name))


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


def _shown(name: str, settings: AgentSettings, effect: str = "") -> ProgramChoice:
    chosen = PROGRAM_CHOICES.get(settings.runtime, ProgramChoices(""))
    return ProgramChoice(
        name=name,
        runtime=settings.runtime,
        model=_value(settings, chosen.model) if chosen.model else None,
        mode=_value(settings, chosen.mode) if chosen.mode else None,
        modes=chosen.modes,
        effect=effect,
    )


def _table(call: ApiCall, name: str) -> tuple[str, AgentSettings]:
    found = _find(call, name)
    if found is None:
        raise NotFound(kind="agent in muster.toml", name=name)
    return found


def _find(call: ApiCall, name: str) -> tuple[str, AgentSettings] | None:
    """The agent's name in the settings, and its table there."""
    tables = call.muster.settings.current.agents.items()
    return next((each for each in tables if name_key(each[0]) == name_key(name)), None)


def _default(key: str) -> str:
    return _value(AgentSettings(), key)


def _value(settings: AgentSettings, key: str) -> str:
    table, _, field = key.partition(".")
    return str(getattr(getattr(settings, table), field))
