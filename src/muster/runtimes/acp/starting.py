"""Starts an agent of the protocol: its program, and the SDK on top of its pipes."""

from pathlib import Path
from shutil import which

from muster.engine.ports import Launch, SessionListener
from muster.runtimes.acp.client import ClientRules
from muster.runtimes.acp.mcp_servers import address_in
from muster.runtimes.acp.presets import Preset, preset_of
from muster.runtimes.acp.session import AcpPlan, AcpSession
from muster.runtimes.process.confined import OUTPUTS
from muster.runtimes.prompted.memory import ProgramConversation, began_this_minute, recall
from muster.runtimes.prompted.roots import WritableRoots
from muster.runtimes.prompted.session import SessionParts
from muster.runtimes.prompted.starting import AgentProgram, started, working_directory
from muster.settings.agents import AgentSettings


async def start(
    settings: AgentSettings, base: Path, launch: Launch, listener: SessionListener
) -> AcpSession:
    """Start it, and return when it is up and has its prompt."""
    preset = preset_of(settings.acp.preset)
    cwd = working_directory(settings, base, launch)

    def take_over(parts: SessionParts) -> AcpSession:
        return AcpSession(parts, _plan(settings, launch, preset, parts, cwd))

    return await started(
        settings, base, launch, listener, _program(settings, launch, preset), take_over
    )


def _program(settings: AgentSettings, launch: Launch, preset: Preset) -> AgentProgram:
    model = settings.acp.model or launch.model
    argv = [*(settings.command or preset.command)]
    variables = dict(preset.variables)
    if model and preset.model_option:
        argv += [preset.model_option, model]
    elif model and preset.model_variable:
        variables[preset.model_variable] = model
    remedy = "Correct that in the agent's table in muster.toml."
    if preset.package and which(argv[0], path=settings.env.get("PATH")) is None:
        remedy = f"Install it: npm install -g {preset.package}"
    return AgentProgram(
        preset.label,
        argv,
        variables,
        preset.own_paths,
        preset.private,
        preset.sets_modes,
        remedy,
    )


def _plan(
    settings: AgentSettings, launch: Launch, preset: Preset, parts: SessionParts, cwd: Path
) -> AcpPlan:
    own = () if launch.folder is None or launch.outputs else (launch.folder / OUTPUTS,)
    roots = WritableRoots(cwd, (*launch.outputs, *own), launch.guarded)
    soul = f"{launch.soul}\n\n" if launch.soul.strip() else ""
    return AcpPlan(
        preset,
        ClientRules(settings.acp, roots, parts.program.is_confined),
        _conversation(settings, launch, preset, cwd),
        settings.acp.mode or preset.mode,
        soul,
        address_in(launch.environment),
    )


def _conversation(
    settings: AgentSettings, launch: Launch, preset: Preset, cwd: Path
) -> ProgramConversation:
    """The conversation to go on with, as far as the program can."""
    program = f"acp:{settings.acp.preset or ' '.join(settings.command)}"
    new = ProgramConversation(program=program, cwd=str(cwd))
    if not settings.acp.resume:
        return new
    found = recall(launch.folder, program, cwd)
    # An attempt to load it would fail, and lose it.
    return new if preset.loads_next_minute and began_this_minute(found) else found
