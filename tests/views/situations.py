"""Situations of an agent called Ada, for the table of badges, built by commands as in life."""

from msgspec.structs import replace

from muster import limits
from muster.machines import commands as c
from muster.machines import ids
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    Authority,
    Awaits,
    Budget,
    DelegationMode,
    InterruptMode,
    Outcome,
    Profile,
    RunMode,
    StatusEntry,
    TurnConfig,
    Usage,
)
from tests.machines.scene import REVIEWS, Scene

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode
MUSTER, SELF, FILE, LEAD = Authority.MUSTER, Authority.SELF, Authority.FILE, Authority.LEAD


def enrolled(authority: Authority = MUSTER, *, long_lived: bool = False) -> Scene:
    """One agent, Ada, that nobody has started."""
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=authority, long_lived=long_lived))
    return scene


def wanted(mode: RunMode = CONTINUOUS, *, long_lived: bool = False) -> Scene:
    scene = enrolled(long_lived=long_lived)
    scene.want("Ada", mode)
    return scene


def up(mode: RunMode = CONTINUOUS, *, long_lived: bool = False) -> Scene:
    scene = wanted(mode, long_lived=long_lived)
    scene.up("Ada")
    return scene


def stopped(*, now: bool = False) -> Scene:
    scene = up()
    scene.want("Ada", PAUSE, now=now)
    return scene


def paused(note: str = "", set_by: str = "Marcus") -> Scene:
    scene = wanted()
    scene.do(c.SetDesired(seat=scene.seat("Ada"), desired=PAUSE, set_by=set_by, note=note))
    scene.ends("Ada")
    return scene


def distrusted() -> Scene:
    """muster paused it because its state file was a link; meanwhile it is a folder."""
    scene = paused("it is a link", set_by="muster")
    problem = "its state file is a folder"
    scene.do(c.ReportStateFile(seat=scene.seat("Ada"), problem=problem, is_readable=False))
    return scene


def failed(times: int = 1, *, budget: Budget | None = None) -> Scene:
    scene = enrolled()
    if budget is not None:
        scene.do(c.ConfigureAgent(seat=scene.seat("Ada"), authority=MUSTER, budget=budget))
    scene.want("Ada", CONTINUOUS)
    for _ in range(times):
        scene.ends("Ada", Outcome.FAILED, code=3, reason="oh no")
        scene.later(600 if times > 1 and scene.agent("Ada").run.failures < times else 0)
    return scene


def failed_again(times: int) -> Scene:
    """A person tried again after so many failures, and it failed once more."""
    scene = failed(times)
    scene.want("Ada", CONTINUOUS)
    scene.ends("Ada", Outcome.FAILED, code=3, reason="oh no")
    return scene


def retried() -> Scene:
    """The session after a failure is requested, and not up yet."""
    scene = failed()
    scene.later(2)
    return scene


def one_shot(outcome: Outcome, reason: str = "") -> Scene:
    scene = up(RUN_ONCE)
    ended = c.ReportSessionEnded(session=scene.session("Ada").id, outcome=outcome, reason=reason)
    scene.do(ended)
    return scene


def paced() -> Scene:
    scene = up()
    scene.ends("Ada")
    return scene


def begun() -> Scene:
    """The next session of a loop is requested, and not up yet."""
    scene = paced()
    scene.later(limits.PACE_SECONDS)
    return scene


def disabled() -> Scene:
    scene = enrolled()
    scene.do(c.DisableAgent(seat=scene.seat("Ada")))
    return scene


def asking(*tools: str) -> Scene:
    scene = up(long_lived=True)
    for tool in tools:
        session = scene.session("Ada").id
        scene.do(c.RequestApproval(session=session, tool=tool, detail="x", seconds=60))
    return scene


def over_budget() -> Scene:
    scene = enrolled(long_lived=True)
    budget = Budget(session_seconds=10)
    scene.do(
        c.ConfigureAgent(seat=scene.seat("Ada"), authority=MUSTER, long_lived=True, budget=budget)
    )
    scene.want("Ada", CONTINUOUS)
    scene.up("Ada")
    scene.later(11)
    scene.ends("Ada")
    return scene


def spent() -> Scene:
    """A limit of cost: the session ends gracefully."""
    scene = enrolled(long_lived=True)
    seat, budget = scene.seat("Ada"), Budget(tokens=10)
    scene.do(c.ConfigureAgent(seat=seat, authority=MUSTER, long_lived=True, budget=budget))
    scene.want("Ada", CONTINUOUS)
    scene.up("Ada")
    usage = Usage(input_tokens=20)
    scene.do(c.ReportResult(session=scene.session("Ada").id, usage=usage))
    return scene


# ── in channels ───────────────────────────────────────────────────────────────────────────────────


def talking(*names: str, config: TurnConfig | None = None) -> Scene:
    """Agents of long-lived programs in a channel, in this order; the first has the turn."""
    scene = Scene()
    scene.running(*names)
    scene.channel_of(*names, config=config)
    return scene


def waiting(awaits: Awaits) -> Scene:
    scene = talking("Ada", "Bo")
    wait = c.WaitTurn(channel=REVIEWS, seat=scene.seat("Ada"), reason="which one?", awaits=awaits)
    scene.do(wait)
    return scene


def interrupted() -> Scene:
    scene = talking("Ada", "Bo", config=TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.posts()
    return scene


def chosen() -> Scene:
    """Ada was chosen by a person, before the ring's next."""
    scene = talking("Bo", "Cy", "Ada")
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("Ada"), to=TurnState.ACTIVE))
    return scene


def messaged() -> Scene:
    scene = up(long_lived=True)
    seat = scene.seat("Ada")
    sent = scene.do(c.SendMessage(text="hello", speaker_name="Marcus", seat=seat))
    scene.do(c.DeliverMessages(seat=seat, upto=sent[0].seq))
    return scene


# ── other authorities ─────────────────────────────────────────────────────────────────────────────


def connected() -> Scene:
    scene = Scene()
    scene.connected("Ada")
    return scene


def told_to_stop() -> Scene:
    scene = connected()
    scene.want("Ada", PAUSE)
    return scene


def reported(mode: RunMode) -> Scene:
    scene = connected()
    scene.do(c.ReportCurrent(seat=scene.seat("Ada"), current=mode))
    return scene


def stopped_itself() -> Scene:
    scene = told_to_stop()
    scene.do(c.ReportCurrent(seat=scene.seat("Ada"), current=PAUSE))
    return scene


def left() -> Scene:
    scene = connected()
    scene.do(c.DisconnectAgent(seat=scene.seat("Ada"), reason="bye"))
    return scene


def stopped_and_left() -> Scene:
    scene = told_to_stop()
    scene.do(c.DisconnectAgent(seat=scene.seat("Ada"), reason="bye"))
    return scene


def shut_out() -> Scene:
    scene = connected()
    scene.do(c.DisableAgent(seat=scene.seat("Ada")))
    return scene


def retired() -> Scene:
    scene = left()
    scene.do(c.RetireAgent(seat=scene.seat("Ada")))
    return scene


def back() -> Scene:
    """An agent that lived, was dismissed, and is in its seat again."""
    scene = one_shot(Outcome.COMPLETED)
    seat = scene.seat("Ada")
    scene.do(c.DismissAgent(seat=seat), actor=ids.MUSTER)
    scene.do(c.RestoreAgent(seat=seat), actor=ids.MUSTER)
    return scene


def rebooted(scene: Scene) -> Scene:
    scene.boot()
    return scene


def following(desired: RunMode, current: RunMode) -> Scene:
    """An agent whose own loop follows its state file."""
    scene = enrolled(FILE)
    seat = scene.seat("Ada")
    if desired is not PAUSE or current is not PAUSE:
        scene.want("Ada", CONTINUOUS)
    if current is not PAUSE:
        scene.do(c.ConnectAgent(seat=seat))
        scene.do(c.ReportCurrent(seat=seat, current=current))
    if desired is PAUSE and current is not PAUSE:
        scene.want("Ada", PAUSE)
    return scene


def silenced(desired: RunMode = CONTINUOUS) -> Scene:
    """A loop that has reported `continuous`, and then nothing for too long."""
    scene = following(desired, CONTINUOUS)
    scene.later(limits.LOOP_SILENT_SECONDS)
    return scene


def led(*, alive: bool = True, stop: bool = False) -> Scene:
    """Ada is run by the lead Julian."""
    scene = Scene()
    scene.do(c.EnrollAgent(name="Julian", authority=SELF, seat=LEAD_SEAT))
    scene.do(c.ConnectAgent(seat=LEAD_SEAT))
    seat = SeatId(0)
    scene.do(c.RegisterAgent(profile=Profile(name="Ada", grid_position=seat)))
    if stop:
        scene.want("Ada", PAUSE)
    if not alive:
        scene.do(c.ReportStatus(agents=(StatusEntry(name="Ada", grid_position=seat, status="x"),)))
    return scene


def summoned() -> Scene:
    scene = Scene()
    scene.do(c.SummonAgents(placeholders=PALETTE, authority=LEAD))
    return scene


def expired() -> Scene:
    scene = summoned()
    scene.later(limits.HATCHING_SECONDS + 1)
    return scene


def delegated(*, stop: bool = False) -> Scene:
    """Ada is known by its description, and works on a task."""
    scene = Scene()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="here", agents=("Ada",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
    (conversation,) = scene.team.delegation.conversations
    scene.do(c.Delegate(conversation=conversation, to="Ada", trigger="do"))
    (session,) = scene.agent("Ada").tasks
    scene.do(c.ReportSessionStarted(session=session, pid=4711))
    if stop:
        scene.want("Ada", PAUSE)
    return scene


def answered() -> Scene:
    scene = delegated()
    (session,) = scene.agent("Ada").tasks
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.COMPLETED))
    return scene


def at_rest(scene: Scene) -> Scene:
    """The team while no server runs."""
    scene.team = replace(scene.team, nodes={})
    return scene


def shutting_down() -> Scene:
    scene = failed()
    scene.do(c.StopMuster(reason="asked"))
    return scene
