"""Builders for the tests of the store: one event of every kind, and a decider that counts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.events import (
    AgentActivity,
    AgentConfigured,
    AgentConfirmed,
    AgentDisabled,
    AgentDismissed,
    AgentEnabled,
    AgentEnrolled,
    AgentHosted,
    AgentMessage,
    AgentOutput,
    AgentRegistered,
    AgentRenamed,
    AgentRestored,
    AgentRetired,
    AgentsSummoned,
    AgentStatus,
    Announcement,
    ApprovalAnswered,
    ApprovalRequested,
    ChannelArchived,
    ChannelConfigured,
    ChannelCreated,
    ChannelRested,
    ChannelRestored,
    ChannelRoused,
    ChoiceForgotten,
    ChoiceRemembered,
    ClockJumped,
    CommandRefused,
    Conflict,
    ConversationEnd,
    ConversationLogged,
    ConversationStart,
    DelegationEnded,
    DelegationStarted,
    DescriptionsAdded,
    DesiredSet,
    DialogueRecorded,
    DocumentsImported,
    Event,
    EvidenceExpired,
    Fact,
    FileRecorded,
    InterruptRequested,
    KillRequested,
    MarkerRejected,
    MemberConfigured,
    MemberJoined,
    MemberLeft,
    MessageImported,
    MessagesDelivered,
    MessagesRead,
    MusterStarted,
    MusterStopped,
    MusterStopping,
    NoteEdited,
    NoteForgotten,
    NoteRemembered,
    PermissionDenied,
    ProgressRecorded,
    PromptTaken,
    RetryScheduled,
    RingOrdered,
    Routed,
    RunPlanned,
    ScheduledRunDue,
    SessionEnd,
    SessionRequested,
    SessionResult,
    SessionStart,
    SettingsApplied,
    SettingsRejected,
    SilenceNoticed,
    SleepRequested,
    SoulEdited,
    SpeakerChosen,
    StartDeferred,
    StateTransition,
    StopRequested,
    TokenIssued,
    TokenRevoked,
    TurnClaimDropped,
    TurnClaimed,
    TurnRenewed,
    TurnsPassed,
    UsageRecorded,
    UsageReported,
    UserMessage,
    WakeChecked,
    WakeRecorded,
    WakeRequested,
    WarningLogged,
    WorkStopped,
)
from muster.machines.handover import HandedOver, WakeCheck
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import Status
from muster.machines.vocabulary import (
    Activity,
    Allowance,
    Answered,
    Authority,
    Budget,
    Claim,
    DelegationMode,
    FaceVariant,
    FileChange,
    InterruptMode,
    Machine,
    OnSilence,
    Outcome,
    Placeholder,
    Profile,
    Ranked,
    Remark,
    Role,
    RunMode,
    StatePermissions,
    StatusEntry,
    Taken,
    Text,
    TurnConfig,
    Urgency,
    Usage,
)

NOON = datetime(2026, 5, 9, 12, 0, 0, 250000, tzinfo=UTC)
LATER = NOON + timedelta(seconds=60)
SEAT = SeatId(3)
DESIGN = ChannelId("design")
SESSION = SessionId("ses-1")
ASK = ConversationId("ask-1")
USED = Usage(
    cost_usd=0.0125,
    input_tokens=900,
    output_tokens=80,
    cache_read_tokens=12_000,
    cache_write_tokens=400,
)
LYRA = Profile(
    name="Lyra",
    grid_position=SEAT,
    color="#aabbcc",
    color_name="dusk",
    gender="female",
    face_variant=FaceVariant(eyes="wide"),
    individuation_artifact="I listen first. – “Lyra” 🎻",
    created_at=NOON,
)
LYRAS = AgentDocument(
    id="agent-identity:3",
    type="agent-identity",
    category="identity",
    status=Status.SLEEPING,
    name="Lyra-3",
    chosen_name="Lyra",
    color_name="dusk",
    individuation_artifact="I listen first. – “Lyra” 🎻",
    color="#aabbcc",
    gender="female",
    grid_position=SEAT,
    face_variant=FaceVariant(eyes="wide"),
    last_alive_at=LATER,
    last_session_id=SESSION,
    created_at=NOON,
)

EXAMPLES: tuple[Fact, ...] = (
    StateTransition(
        machine=Machine.TURNS,
        agent_id="Lyra",
        source="QUEUED",
        target="ACTIVE",
        trigger="turn_granted",
        seat=SEAT,
        channel=DESIGN,
        conversation=ASK,
        epoch=17,
        until=LATER,
        session=SESSION,
        reason="first in the ring",
    ),
    MusterStarted(server_session=SESSION, muster_version="0.1.0", human="Marcus"),
    MusterStopping(reason="asked", urgency=Urgency.GRACEFUL, until=NOON),
    MusterStopped(reason="asked"),
    CommandRefused(
        command="complete_turn",
        code="stale_epoch",
        reason="Turn 3 is over",
        seat=SEAT,
        channel=DESIGN,
        epoch=3,
    ),
    ClockJumped(seconds=3600.0, shift_seconds=3600.0, suspended_seconds=60.0),
    WarningLogged(text="Lyra posted, then fell silent", seat=SEAT, channel=DESIGN),
    AgentsSummoned(
        authority=Authority.LEAD,
        placeholders=(Placeholder(grid_position=SEAT, color="#aabbcc", gender="female"),),
    ),
    AgentEnrolled(agent=LYRA, authority=Authority.SELF, long_lived=True, max_turns=2),
    AgentRegistered(agent=LYRA, session=SESSION),
    AgentStatus(
        agents=(StatusEntry(grid_position=SEAT, name="Lyra"),), session=SESSION, confirmed=(SEAT,)
    ),
    AgentConfirmed(seat=SEAT, evidence="heartbeat"),
    EvidenceExpired(seat=SEAT, seconds=300.0),
    WakeRequested(seats=(SEAT,)),
    SleepRequested(seats=(SEAT,)),
    AgentDisabled(seat=SEAT, reason="costs too much"),
    AgentRetired(seat=SEAT, reason="its work is done"),
    AgentRenamed(seat=SEAT, name="Lyra the second", previous="Lyra"),
    AgentHosted(seat=SEAT),
    NoteRemembered(seat=SEAT, note=1, text="the plan"),
    NoteEdited(seat=SEAT, note=1, text="the new plan"),
    NoteForgotten(seat=SEAT, note=1),
    WakeRecorded(
        seat=SEAT,
        session=SESSION,
        handed=HandedOver(soul_chars=1204, notes=2, note_chars=50, messages=12, omitted=28),
        asked=True,
    ),
    WakeChecked(
        seat=SEAT, session=SESSION, outcome=WakeCheck.MATCHED, name="Lyra", soul="I am Lyra."
    ),
    SoulEdited(seat=SEAT, soul="I am Lyra.", reason="a typo"),
    AgentDismissed(seat=SEAT, until=NOON, reason="removed from the settings"),
    AgentRestored(seat=SEAT),
    SettingsApplied(changes=("agents.Lyra.command",), waiting=("server.port",)),
    SettingsRejected(line=7, what="agents.Lyra has no command", remedy="Write one."),
    UsageReported(seat=SEAT, usage=Usage(cost_usd=0.5, output_tokens=7), channel=DESIGN),
    AgentEnabled(seat=SEAT),
    MarkerRejected(seat=SEAT, marker="[AGENT_STATUS]", reason="inside a fence"),
    Conflict(seat=SEAT, reported="sleeping", evidence="process 4711 lives"),
    DocumentsImported(
        documents=(LYRAS,), lost=(LYRAS,), held=(SEAT,), authority=Authority.MUSTER, messages=1
    ),
    MessageImported(
        message=MessageCopy(
            id="ses-9:41",
            type="message",
            speaker_name="Grace",
            speaker_type="human",
            target_agent="Lyra",
            text="hello",
            server_session_id=SessionId("ses-9"),
            created_at=NOON,
            grid_position=SEAT,
            channel=DESIGN,
        ),
        seat=SEAT,
    ),
    DesiredSet(
        seat=SEAT,
        desired=RunMode.CONTINUOUS,
        previous=RunMode.PAUSE,
        generation=2,
        set_by="person:Marcus",
        note="go on",
    ),
    AgentConfigured(
        seat=SEAT,
        authority=Authority.MUSTER,
        long_lived=True,
        max_turns=2,
        budget=Budget(
            sessions_per_hour=6,
            session_seconds=600.0,
            failures=3,
            cost_usd=2.5,
            tokens=100_000,
            session_cost_usd=0.5,
            session_tokens=20_000,
        ),
    ),
    AgentOutput(seat=SEAT, session=SESSION, stream="stderr", text="hot", omitted=4096),
    SessionResult(
        seat=SEAT,
        session=SESSION,
        ok=False,
        text="no paper",
        usage=USED,
        channel=DESIGN,
        conversation=ASK,
    ),
    AgentActivity(
        seat=SEAT,
        session=SESSION,
        kind=Activity.TOOL_CALL,
        name="Bash",
        text="ls -l",
        ref="toolu_1",
        by="scout",
    ),
    PromptTaken(
        seat=SEAT, session=SESSION, how=Taken.INJECTED, text="stop that", channels=(DESIGN,)
    ),
    ApprovalRequested(
        approval="41",
        seat=SEAT,
        session=SESSION,
        tool="Bash",
        detail="rm -r build",
        until=LATER,
        by="scout",
        default=True,
    ),
    ApprovalAnswered(
        approval="41", seat=SEAT, allow=True, how=Answered.PERSON, note="only this once"
    ),
    SessionRequested(
        seat=SEAT, session=SESSION, mode=RunMode.RUN_ONCE, generation=2, trigger="wake"
    ),
    SessionStart(
        session=SESSION,
        seats=(SEAT,),
        mode=RunMode.CONTINUOUS,
        generation=2,
        pid=4711,
        started="81239",
    ),
    SessionEnd(
        session=SESSION, seats=(SEAT,), outcome=Outcome.CRASHED, code=-9, reason="killed by 9"
    ),
    StopRequested(seat=SEAT, session=SESSION, urgency=Urgency.NOW),
    InterruptRequested(seat=SEAT, session=SESSION, channel=DESIGN, until=LATER),
    KillRequested(seat=SEAT, session=SESSION, channel=DESIGN, until=LATER),
    RetryScheduled(seat=SEAT, failures=3, until=LATER),
    RunPlanned(seat=SEAT, at=LATER),
    ScheduledRunDue(seat=SEAT, at=LATER, next_at=LATER),
    SilenceNoticed(seat=SEAT, session=SESSION, seconds=60.0, action=OnSilence.RESTART),
    StartDeferred(seat=SEAT, names=("db",)),
    ChannelCreated(channel=DESIGN, config=TurnConfig()),
    ChannelConfigured(
        channel=DESIGN, config=TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT)
    ),
    MemberJoined(channel=DESIGN, seat=SEAT, timeout_seconds=90.0, place=0),
    MemberLeft(channel=DESIGN, seat=SEAT, reason="crashed", keeps_place=True),
    TurnRenewed(channel=DESIGN, epoch=17, until=LATER),
    WorkStopped(channel=DESIGN, seat=SEAT),
    ChannelRested(channel=DESIGN, idle_rounds=3),
    ChannelArchived(channel=DESIGN),
    ChannelRestored(channel=DESIGN),
    RingOrdered(channel=DESIGN, seats=(SeatId(10), SEAT)),
    MemberConfigured(channel=DESIGN, seat=SEAT, timeout_seconds=5.0),
    TurnClaimed(channel=DESIGN, seat=SEAT, claim=Claim.HANDOFF, by="Kael"),
    TurnClaimDropped(channel=DESIGN, seat=SEAT),
    SpeakerChosen(channel=DESIGN, seat=SEAT, chosen=SeatId(10), text="Kael"),
    TurnsPassed(channel=DESIGN, seats=(SEAT, SeatId(10))),
    ChannelRoused(channel=DESIGN),
    Announcement(channel=DESIGN, text="Lyra timed out"),
    UserMessage(
        text='say "hi"\n',
        speaker_name="Marcus",
        target_agent="Lyra",
        seat=SEAT,
        channel=DESIGN,
        mode=InterruptMode.INJECT,
        deliver_to=(SEAT,),
    ),
    AgentMessage(agent_name="Lyra", content=(Text("hi"),), seat=SEAT, channel=DESIGN, epoch=17),
    MessagesRead(seat=SEAT, upto=41),
    MessagesDelivered(seat=SEAT, upto=41, channel=DESIGN),
    TokenIssued(token_id="lyra", role=Role.AGENT, digest="ab" * 32, seat=SEAT, note="laptop"),
    TokenRevoked(token_id="lyra", seat=SEAT),
    DelegationStarted(
        mode=DelegationMode.INTERACTIVE,
        path="/srv/team",
        agents=("writer", "tester"),
        folders=("/srv/agents",),
        agent_list="tester\nwriter\n",
        directory="# Agent directory\n",
        permissions=(StatePermissions(state="MAIN", can_write=("*.md",), cannot_use=("Bash",)),),
        allowance=Allowance(max_cost_usd=1.5, max_tokens=90_000),
    ),
    DescriptionsAdded(
        agents=("poet",), agent_list="poet\ntester\nwriter\n", directory="# Agent directory\n"
    ),
    DelegationEnded(reason="done"),
    ConversationStart(
        conversation=ASK,
        text="write a poem",
        speaker_name="Marcus",
        keeper="claude:1:4711@81239",
        depth=1,
        seat=SEAT,
    ),
    Routed(
        conversation=ASK,
        to="writer",
        confidence=0.75,
        rule="score",
        reason='Matched: "poem"',
        router="lexical",
        margin=0.5,
        candidates=(Ranked(agent="writer", score=7.5, words=("poem",)),),
    ),
    ChoiceRemembered(number=1, text="write a poem", to="writer", guess="MAIN"),
    ChoiceForgotten(number=1),
    PermissionDenied(
        conversation=ASK,
        state="MAIN",
        rule="main.write",
        reason="MAIN may not write *.py",
        suggestion="poet",
    ),
    DialogueRecorded(conversation=ASK, speaker="writer", kind=Remark.THINKING, text="a rhyme?"),
    FileRecorded(
        conversation=ASK,
        state="writer",
        path="poem.md",
        change=FileChange.CREATED,
        size=42,
        sha256="cd" * 32,
        outside=True,
        named=True,
    ),
    ConversationLogged(entry='{"conversation_id": "conv_009"}'),
    UsageRecorded(conversation=ASK, agent_name="writer", usage=USED),
    ProgressRecorded(conversation=ASK, what="outputs/poem.md"),
    ConversationEnd(conversation=ASK, summary="a poem", outcome="failed"),
)
"""One fact of every kind, with every field set to something that is not its default."""


def event(seq: int, fact: Fact | None = None, *, cause: int | None = None) -> Event:
    """An event with this `seq`."""
    return Event(seq, NOON, SESSION, "person:Marcus", cause, fact or said(f"number {seq}"))


def said(text: str, *, seat: SeatId = SEAT, channel: ChannelId | None = DESIGN) -> AgentMessage:
    """A message of an agent in a channel."""
    return AgentMessage(agent_name="Lyra", content=(Text(text),), seat=seat, channel=channel)


class Counter:
    """The state of a decider: it knows the next `seq`, and drops rolled back decisions."""

    def __init__(self, last_seq: int = 0) -> None:
        self.last_seq = last_seq

    def decide(self, *facts: Fact) -> Sequence[Event]:
        """Turn facts into events that follow all earlier decisions."""
        events = [event(self.last_seq + place, fact) for place, fact in enumerate(facts, start=1)]
        self.last_seq += len(events)
        return events
