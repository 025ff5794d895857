"""The settings of the demo, built in code, so that no file is needed."""

import sys
from typing import Final

from msgspec.structs import replace

from muster.demo.cast import LEAD, LEAD_SEAT
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.model import Settings

HOME_FOLDER: Final = ".muster-demo"
"""The demo's home, beside that of the user's own team."""

LEAD_COLOR: Final = "#e8d9b1"


def program(name: str) -> tuple[str, ...]:
    """The command of a demo program; `-P` prevents imports from its working directory."""
    return (sys.executable, "-P", "-m", f"muster.demo.{name}")


def demo_settings(settings: Settings) -> Settings:
    """The user's settings with the demo's team instead of the user's own."""
    defaults = AgentSettings(
        command=program("agent"), speaks="lines", long_lived=True, interrupt_seconds=0.5
    )
    lead = replace(defaults, seat=LEAD_SEAT, color=LEAD_COLOR, unasked=LEAD.unasked)
    delegation = replace(settings.delegation, command=program("delegate"), prompt="stdin")
    return replace(settings, agents={LEAD.name: lead, ANYBODY: defaults}, delegation=delegation)
