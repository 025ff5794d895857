"""Requests about settings, one function each, as in `requests.py`."""

from collections.abc import Mapping, Sequence

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers.settings import ProgramChoice, ProgramList, SettingsEdited, SettingsView


def settings() -> ApiRequest[SettingsView]:
    """The settings in force, and a mistake in the file."""
    return ApiRequest(method="GET", path=api_path("settings"), answer=SettingsView)


def programs() -> ApiRequest[ProgramList]:
    """The programs for agents on the server's machine."""
    return ApiRequest(method="GET", path=api_path("runtimes"), answer=ProgramList)


def add_agent(
    name: str, values: Mapping[str, object], *, start: bool = False, preview: bool = False
) -> ApiRequest[SettingsEdited]:
    """Add an agent to the settings file."""
    body = {"name": name, "settings": dict(values), "start": start, "preview": preview}
    path = api_path("settings", "agents")
    return ApiRequest(method="POST", path=path, answer=SettingsEdited, body=body)


def change_agent(
    name: str,
    values: Mapping[str, object],
    unset: Sequence[str] = (),
    *,
    version: str | None = None,
    preview: bool = False,
) -> ApiRequest[SettingsEdited]:
    """Set and remove settings of an agent, in the file as it had this version."""
    body = {"settings": dict(values), "unset": list(unset), **given(version=version)}
    body["preview"] = preview
    path = api_path("settings", "agents", name)
    return ApiRequest(method="PATCH", path=path, answer=SettingsEdited, body=body)


def program(name: str) -> ApiRequest[ProgramChoice]:
    """The model and the mode of an agent's program."""
    path = api_path("settings", "agents", name, "program")
    return ApiRequest(method="GET", path=path, answer=ProgramChoice)


def choose_program(
    name: str, *, model: str | None = None, mode: str | None = None
) -> ApiRequest[ProgramChoice]:
    """Choose another model or mode; a running Claude Code takes it over at once."""
    path = api_path("settings", "agents", name, "program")
    body = given(model=model, mode=mode)
    return ApiRequest(method="PATCH", path=path, answer=ProgramChoice, body=body)


def remove_agent(name: str, *, preview: bool = False) -> ApiRequest[SettingsEdited]:
    """Remove an agent from the settings file."""
    query = given(preview="true" if preview else None)
    path = api_path("settings", "agents", name)
    return ApiRequest(method="DELETE", path=path, answer=SettingsEdited, query=query)


def rename_agent(name: str, new: str, *, preview: bool = False) -> ApiRequest[SettingsEdited]:
    """Rename an agent."""
    body = {"name": new, "preview": preview}
    path = api_path("settings", "agents", name, "rename")
    return ApiRequest(method="POST", path=path, answer=SettingsEdited, body=body)
