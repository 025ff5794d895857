"""An event as one line: number, time, sentence."""

from muster.cli.render import Look, Tone, clean, fit, paint
from muster.machines.events import Event
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team


def tell(event: Event, team: Team, look: Look, *, lead: str = "") -> str:
    """One line in local time, cut to the terminal's width if there is one."""
    place = f"{event.seq:>6}  {event.ts.astimezone():%Y-%m-%d %H:%M:%S}  "
    said = clean(lead + sentence(event, team, whole=look.width is None))
    if look.width is not None:
        said = fit(said, max(20, look.width - len(place)))
    return paint(place, Tone.DIM, look) + said
