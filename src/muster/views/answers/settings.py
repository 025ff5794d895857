"""Answers about settings: the agents' tables in force, what waits, edits, and programs found."""

from typing import Any

from muster.views.answers import View


class AgentTable(View, frozen=True, kw_only=True):
    """The settings of one agent, as they are in force."""

    name: str
    settings: dict[str, Any]  # values of any type; only those that are not the default
    next_session: bool = False
    """Whether its session was started with other settings: these hold for its next one."""


class ProgramChoice(View, frozen=True, kw_only=True):
    """The model and the mode of an agent's program: those of its settings, and those in force."""

    name: str
    runtime: str
    model: str | None
    """Empty for the program's default; none where the runtime has no such setting."""

    mode: str | None
    running_model: str | None = None
    """The model of the running session, if it differs: a `/model` lasts for its session."""

    running_mode: str | None = None
    modes: tuple[str, ...] = ()
    """The modes to choose from; empty where the program alone knows them."""

    effect: str = ""
    """When the last change takes effect."""


class SettingsMistake(View, frozen=True, kw_only=True):
    """A mistake in the settings file, while the earlier settings stay in force."""

    line: int
    """The line of the mistake; 0 where it has none."""

    what: str
    remedy: str


class SettingsView(View, frozen=True, kw_only=True):
    """The settings of a team."""

    path: str | None
    """The settings file; none for a team whose settings never change, such as the demo."""

    version: str
    """The version of the file; an edit that names it is refused when the file has changed."""

    agents: tuple[AgentTable, ...]
    problem: SettingsMistake | None
    waiting: tuple[str, ...]
    """The changed settings that hold after a restart of muster."""


class SettingsEdited(View, frozen=True, kw_only=True):
    """An edit of the settings file, made or previewed."""

    name: str
    preview: bool
    difference: str
    """The edit as a unified diff."""

    version: str
    """The version of the file after the edit; of a preview, the version that it was made for."""

    effect: str
    """The effect of the edit on the agent, in a sentence."""


class ProgramView(View, frozen=True, kw_only=True):
    """A program for agents that muster looked for on its machine."""

    runtime: str
    """The `runtime` of an agent's table."""

    label: str
    is_found: bool
    program: str = ""
    """The path of the program."""

    version: str = ""
    command: tuple[str, ...] = ()
    """The `command` of an agent's table, for a program that is run as a command."""

    preset: str = ""
    """The `acp.preset` of an agent's table, for one that speaks the Agent Client Protocol."""

    enforcement: str = ""
    """The permissions that are enforced, and those that are only advice to it."""

    remedy: str = ""
    """How to get the program, where it is not found; how to sign in, where it has no sign-in."""

    lacks_sign_in: bool = False
    """Whether no credentials of the program were seen: its sessions will probably fail."""


class ProgramList(View, frozen=True, kw_only=True):
    """The programs for agents on the server's machine."""

    programs: tuple[ProgramView, ...]


class TemplateAgent(View, frozen=True, kw_only=True):
    """An agent of a template."""

    name: str
    description: str
    runs: str
    """Its program on this machine, in words."""


class TemplateView(View, frozen=True, kw_only=True):
    """A team that comes with muster."""

    name: str
    about: str
    agents: tuple[TemplateAgent, ...]
    channels: tuple[str, ...]
    text: str
    """The settings that it writes."""

    needs_model: bool = False
    """Whether an agent runs a model where the template also has a script for it."""


class TemplateList(View, frozen=True, kw_only=True):
    """The teams that come with muster."""

    templates: tuple[TemplateView, ...]
