"""The settings of the demo: built here, so that no file has to be written for it."""

import sys
from typing import Final

from msgspec.structs import replace

from muster.demo.cast import LEAD, LEAD_SEAT
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.model import Settings

HOME_FOLDER: Final = ".muster-demo"
"""Its home, beside that of the user's own team."""

LEAD_COLOR: Final = "#e8d9b1"


def program(name: str) -> tuple[str, ...]:
    """The command of one of our programs; what lies around in its folder is not imported."""
    return (sys.executable, "-P", "-m", f"muster.demo.{name}")


def demo_settings(settings: Settings) -> Settings:
    """The user's settings with the demo's team instead of the user's own."""
    anybody = AgentSettings(
        command=program("agent"), speaks="lines", long_lived=True, interrupt_seconds=0.5
    )
    lead = replace(anybody, seat=LEAD_SEAT, color=LEAD_COLOR)
    delegation = replace(settings.delegation, command=program("delegate"), prompt="stdin")
    return replace(settings, agents={LEAD.name: lead, ANYBODY: anybody}, delegation=delegation)
