"""The three kinds of failure, and every error of muster.

`Refused`: not allowed now. `Unavailable`: the world failed, retry. `Broken`: a bug in muster.
A leaf's docstring is its message, its fields fill the braces in it, and its `code` is stable: the
same shape reaches HTTP and the command line.
"""

import re
from typing import ClassVar


class MusterError(Exception):
    """Something went wrong."""

    code: ClassVar[str]
    status: ClassVar[int]
    """The HTTP status of the error."""

    exit_code: ClassVar[int]
    """The exit code of the command line for the error."""

    message: ClassVar[str] = "Something went wrong."
    """The docstring on one line, once for each class: it may span lines."""

    def __init_subclass__(cls) -> None:
        """Derive the stable code from the class name, unless the class says another."""
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.message = " ".join((cls.__doc__ or cls.code).split())

    def __init__(self, **found: object) -> None:
        """Keep the fields of the error; they fill the braces of the docstring."""
        self.found = found
        super().__init__(self.message.format(**found))


class Refused(MusterError):
    """Not allowed now."""

    status = 409
    exit_code = 3
    recorded: ClassVar[bool] = False
    """Whether the attempt is logged, because it may be an attack or a stale process."""


class Unavailable(MusterError):
    """A resource failed; retry."""

    status = 503
    exit_code = 4


class Broken(MusterError):
    """A bug in muster; please report it."""

    status = 500
    exit_code = 70


# ── not found, not valid ──────────────────────────────────────────────────────────────────────────


class NotFound(Refused):
    """There is no {kind} {name!r}. `muster status` lists what exists."""

    status = 404


class NoSuchSession(NotFound):
    """{agent!r} had no session {session!r}. `muster logs {agent}` names the session before its
    output, and the page the number at its end."""


class NoSuchTool(NotFound):
    """This token has no tool {name!r}. `tools/list` names those that it has."""


class Invalid(Refused):
    """{what} {why}."""

    status = 422
    exit_code = 2


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class AlreadySummoned(Refused):
    """Cannot summon: the team has {names}. `muster wake` wakes sleeping agents instead."""


class NameTaken(Refused):
    """The name {name!r} belongs to seat {seat}. Choose another, or rename that agent."""


class LookAlike(Refused):
    """The name {name!r} looks like {other!r}, in seat {seat}. Choose another, or rename that."""


class SeatOfAnother(Refused):
    """Seat {seat} belongs to {name!r} since an import. Send it again if you mean that agent."""


class NameOfTwo(Refused):
    """The name {name!r} belongs to seat {seat}, and its table is about seat {other}. Rename the
    agent in seat {seat}, or write `seat = {seat}` into the table."""


class FormerNameOfTwo(Refused):
    """The table {name!r} notes the former name {former!r}, and the agent {former!r} has a table of
    its own. Remove `formerly` from the table {name!r} if it is about a new agent, or the table
    {former!r} if that agent is renamed."""


class NameReserved(Refused):
    """The name {name!r} is reserved. Choose another."""


class SeatTaken(Refused):
    """Seat {seat} belongs to {name!r}, which is {status}. A seat keeps its first name and soul."""

    recorded = True


class NotTheAuthority(Refused):
    """{claimant!r} cannot speak for {name!r}: {authority} has authority over it."""

    recorded = True


class TooManyPeerMessages(Refused):
    """Agents have sent each other {limit} messages since {human} last spoke. Wait for {human}."""


class MemoryFull(Refused):
    """{name!r} has as many notes as it may: {notes}, or {size} KiB. Forget one first."""


class NoFreeSeat(Refused):
    """Cannot summon: every seat has an agent. `muster agents` lists them."""


class ConnectsByItself(Refused):
    """Cannot wake {name!r}: it connects by itself. Start its program where it runs."""


class Retired(Refused):
    """{name!r} is retired. {way_back} brings it back."""


class CannotRetire(Refused):
    """Cannot retire {name!r}: {why}. {remedy}"""


class CannotRename(Refused):
    """Cannot rename {name!r}: {why}. {remedy}"""


class Dismissed(Refused):
    """{name!r} leaves the team, and its session is ending. `muster agent add` brings it back if the
    settings named it, or else `muster agent restore`."""


class WrongState(Refused):
    """Cannot {act} {name!r}: it is {state}."""


# ── run control ───────────────────────────────────────────────────────────────────────────────────


class Paused(Refused):
    """{name!r} is paused. `muster start {name}` lets it run."""


class StateFileUnreadable(Refused):
    """{name!r} cannot start: {problem}. It starts again when the file can be read."""


class Disabled(Refused):
    """{name!r} is disabled. `muster agent enable {name}` lets it run."""


class OnCall(Refused):
    """{name!r} is on call: it has a session while it has a task, and no other."""


class BudgetReached(Refused):
    """{name!r} has used up its budget: {reached}. Raise it in muster.toml, or try again later."""


class AlreadyRunning(Refused):
    """{name!r} is running already, in session {session!r}."""


class BackingOff(Refused):
    """{name!r} failed {failures} times and is in backoff until {until}."""


class NotScheduled(Refused):
    """{name!r} runs by its schedule ({schedule}). `muster start {name} --now` runs it before."""


class NoWork(Refused):
    """{name!r} runs when there is work for it. `muster start {name} --now` runs it at once."""


class NothingUnanswered(Refused):
    """{name!r} has no unanswered message. `muster send` sends it one."""


class NotAtWork(Refused):
    """{name!r} has no running session that could be interrupted."""


class WaitsFor(Refused):
    """{name!r} waits for {names} to run. `muster start` those, or change `after` in muster.toml."""


class NoNode(Refused):
    """No machine may run {name!r} now: {why}. Start one that may, or `muster agent move` it."""


class NodeAway(Refused):
    """{name!r} may still run on node {node!r}, which is away. Move it anyway (--anyway) only if you
    know that its process there is dead."""


class NodeTaken(Refused):
    """Another machine has the name {node!r} now. Stop one of them, or set node.name."""


class NodeSilent(Refused):
    """The machine {node!r} is silent, and was run from another home: agents that stay may still run
    there. Give this machine another name (--node), or, if that home is gone for good, start it once
    with MUSTER_NODE_REPLACES_LOST_HOME=true."""


class OnOtherNode(Unavailable):
    """That is on the disk of machine {node!r}, which {why}. Ask again when it is back."""


class NodeAnswerTooLarge(Refused):
    """That is on the disk of machine {node!r}, and with {size} bytes too large to be read from
    another machine ({most} bytes). Read it there."""


class LeaseOver(Unavailable):
    """The lease of node {node!r} is over, so sessions that may move do not start on it."""


class WardenGone(Unavailable):
    """The warden of node {node!r} has ended, which ends its sessions when the lease is over. Start
    muster again."""


class AgentElsewhere(Refused):
    """{name!r} belongs to node {node!r}, so its settings on {other!r} are not used. Set
    moves = true on both, or `muster agent move {name} {other}`."""


class RunElsewhere(Refused):
    """muster does not run {name!r}: {authority} does."""


class RunByMuster(Refused):
    """muster runs {name!r} and knows its current state. Leave `current` out of the heartbeat."""


class StaleGeneration(Refused):
    """{name!r} has a newer desired state (generation {generation}, not {given}). Reload it."""


class UsageCounted(Refused):
    """The usage of {name!r} is counted already: muster runs its sessions, and they report it."""


class Stopping(Refused):
    """muster is stopping, and nothing starts any more. Try again when it has started."""


class CannotStart(Unavailable):
    """Cannot start {program!r} in {cwd}: {why}. {remedy}"""


class NotConfined(Unavailable):
    """The command was not run, because it cannot be confined: {why}."""


class UnknownSession(Refused):
    """Session {session!r} has ended: its report is out of date."""

    recorded = True


class NoSession(Refused):
    """muster runs no session of {name!r}, which a request for approval needs. Ask {human} with a
    message."""


class TooManyApprovals(Refused):
    """{name!r} has {limit} open requests for approval, which is the limit. Wait for an answer."""


class CannotMakeWorkspace(Unavailable):
    """Cannot make a worktree for {name!r} in {folder}: {why}. {remedy}"""


class CannotChangeWorkspace(Refused):
    """Cannot {step} {workspace!r}: {why}. {remedy}"""


class GitFailed(Unavailable):
    """git failed in {folder}: {why}."""


class MissingExtra(Unavailable):
    """{what} needs the extra: pip install 'muster-agents[{extra}]'."""


class PushFailed(Unavailable):
    """Browsers cannot be notified: {why}."""


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class ChannelExists(Refused):
    """Channel {channel!r} exists already."""


class NotAMember(Refused):
    """{name!r} is not in channel {channel!r}. `muster channel add {channel} {name}` adds it."""


class AlreadyAMember(Refused):
    """{name!r} is in channel {channel!r} already."""


class ChannelFull(Refused):
    """Channel {channel!r} has {members} members, which is the limit."""


class NotYourTurn(Refused):
    """Cannot {act} in {channel!r}: {name!r} is {state}, and {holder} the turn."""

    recorded = True


class TurnNotBegun(Refused):
    """The turn of {name!r} in {channel!r} has not begun: its prompt waits behind other work. Finish
    that work; the prompt comes next.
    """

    recorded = True


class TooMuchKept(Refused):
    """The turn of {name!r} in {channel!r} is paused, and no more than {acts} acts with {bytes:,}
    bytes can wait for it. This one was not kept: repeat it when the turn goes on."""


class StaleEpoch(Refused):
    """Turn {given} in {channel!r} {state}: the turn is now number {epoch}. Ask for a new turn."""

    recorded = True

    def __init__(self, *, channel: str, given: int, epoch: int) -> None:
        """Say whether the turn is over, or has not begun."""
        state = "is over" if given < epoch else "has not begun"
        super().__init__(channel=channel, given=given, state=state, epoch=epoch)


class TurnLost(Refused):
    """The turn in {channel!r} is lost: {reason}. Ask for a new turn."""


class CannotSpeak(Refused):
    """{name!r} cannot be given the turn: it {why}."""


class ChannelIsArchived(Refused):
    """Channel {channel!r} is archived. `muster channel restore {channel}` brings it back."""


class RemovedByPerson(Refused):
    """A person removed {name!r} from channel {channel!r}, and only a person can add it again."""


class InvitedOnly(Refused):
    """Only a person adds members to channel {channel!r}."""


class NotPresent(Refused):
    """{name!r} is OFFLINE. It can be assigned when it has started."""


class NobodyIs(Refused):
    """No agent is {status}: nothing to {act}. `muster agents` lists all agents."""


class NobodyToSummon(Refused):
    """Cannot summon: the team has no lead, and no program for new agents. Give
    muster.toml an agent with seat = 4, or a table [agents."*"] with a command.
    """


class NoLead(Refused):
    """The team has no lead to take this. Name an agent, or enrol one in seat 4."""


class Repeated(Refused):
    """Event {seq} has the same idempotency key. It is not repeated."""

    def __init__(self, *, seq: int) -> None:
        """Keep the place of the first event."""
        super().__init__(seq=seq)
        self.seq = seq


class KeyReused(Refused):
    """The idempotency key belongs to another request (event {seq}), and nothing was done for this
    one. A key is for retries of the same request; send this one with a key of its own."""

    status = 422


class SecretShown(Refused):
    """This was done with the same idempotency key (event {seq}), and its secret was shown then.
    A secret is shown once: `muster token issue` makes another, `muster token revoke` ends this one.
    """


# ── who may do what ───────────────────────────────────────────────────────────────────────────────


class Unauthenticated(Refused):
    """Authentication required: send a bearer token. `muster token issue` creates one."""

    status = 401


class InvalidToken(Unauthenticated):
    """The token is not valid: it was revoked, its agent was retired, or another team issued it.
    `muster token issue` creates one."""

    code = Unauthenticated.code


class Forbidden(Refused):
    """{who} may not {act}. {remedy}"""

    status = 403


class WrongHost(Forbidden):
    """Host {host!r} is not allowed. Use the address that muster listens on (`server.host`), or set
    `server.public_url`."""

    code = Forbidden.code


class WrongOrigin(Forbidden):
    """Origin {origin!r} may not send {method}. Only pages of this server may change the team."""

    code = Forbidden.code


class TokenExists(Refused):
    """Token {token_id!r} exists already."""


class TooFast(Refused):
    """Rate limit of {rate:g} requests a second exceeded. Retry after {seconds:.1f} s."""

    status = 429


class OverQuota(TooFast):
    """Quota of {rate:,.0f} {unit} a minute exceeded. Retry after {seconds:.1f} s."""

    code = TooFast.code


class TooManyStreams(Refused):
    """{limit} event streams are open, and there may not be more. Close one, or read several
    channels in one stream."""

    status = 429


# ── requests ──────────────────────────────────────────────────────────────────────────────────────


class InvalidRequest(Invalid):
    """Invalid request {part}: {why}."""

    code = Invalid.code


class Malformed(Invalid):
    """{what} {why}."""  # it could not even be parsed

    code = Invalid.code
    status = 400


class TooLarge(Refused):
    """The request is larger than {limit} bytes. Put large content into a file instead."""

    status = 413
    exit_code = 2


class FilesFull(Refused):
    """The attached files of the team would take more than {limit} bytes. Delete files that nobody
    needs from `files/` in its home."""

    status = 413


class DiskLow(Refused):
    """The disk of the home is nearly full: {size} bytes would leave less than the {reserve} bytes
    that are kept for the log ({free} are free). Make room on the disk, then retry."""

    status = 507


class UploadsFull(Refused):
    """{who!r} may have {files} uploaded files, or {limit} bytes of them, that no message names.
    Name them in a message; unused ones are removed after a day."""

    status = 413


class WrongMethod(Refused):
    """{path!r} does not take {method}; it takes {allowed}."""

    status = 405


# ── delegation ────────────────────────────────────────────────────────────────────────────────────


class NoDelegation(Refused):
    """No state machine session is open here. `muster agent-state-machine` starts one."""


class Ambiguous(Refused):
    """The agent is not clear: {choices}. Name one with `--to AGENT` ("to" over HTTP), or MAIN."""


class NestedTooDeep(Refused):
    """Requests of agents may be nested {most} deep, and this one is at depth {depth}. Do the work
    in this agent, or report what is missing."""


class SessionGone(Refused):
    """The session in {path} is open, but its folder is gone or damaged. If the project was moved,
    `muster agent-state-machine` goes on with it; `--session end` closes it."""


class DelegationOpen(Refused):
    """A state machine session is open here already. `--session end` ends it."""


class PathTaken(Refused):
    """{path} {why}. Give another --path."""


class PathUnusable(Refused):
    """Cannot make the folder {path} ({detail}). Give another --path."""


class FolderBehind(Unavailable):
    """The files in {path} are behind ({detail}). The log is complete; the next call retries."""


class WrongMode(Refused):
    """Cannot {act} in {mode} mode."""


class UsedUp(Refused):
    """Budget exhausted: {reached}. No further agent is started for this conversation."""


class ConversationClosed(Refused):
    """Conversation {conversation!r} is closed. Every input opens a new one."""


class AlreadyClaimed(Refused):
    """Conversation {conversation!r} is already claimed by {state!r}."""

    recorded = True


# ── the store and the home ────────────────────────────────────────────────────────────────────────


class HomeInUse(Refused):
    """Another muster (process {pid}) runs in {home}. Stop it, or give this one another --home."""


class HomeOfAnother(Refused):
    """{home} belongs to {owner}, who decides what muster would run as you. Run muster as {owner},
    or make the folder yours.
    """


class HomeNotTrusted(Refused):
    """{home} came with its git repository and would run as you: {programs}. Read its muster.toml;
    if you trust its authors, run muster up --trust.
    """


class StateFileInUse(Refused):
    """{path} is followed by {holder} (process {pid}). Stop that first, or name another file."""


class StateFileNotLocked(Refused):
    """{path} cannot be locked against other programs: its lock {lock} is not usable ({why}). Remove
    the lock; muster creates it anew.
    """


class LogTooNew(Refused):
    """The log at {path} is from a newer muster ({found}, this one knows {known}). Upgrade."""


class LogCorrupt(Unavailable):
    """The log at {path} is damaged ({detail}). Nothing was changed; restore a backup with
    `muster restore`.
    """

    exit_code = 5


class SignInExpired(Refused):
    """This sign-in link was used already, or is too old. `muster open` prints a new one."""

    status = 401


class SsoFailed(Refused):
    """Single sign-on failed: {why}. Try again, or sign in with a link of `muster open`."""

    status = 401


class LogRewritten(Unavailable):
    """The log at {path} does not contain the head {head}: it was rewritten, or is another log."""

    exit_code = 5


class BackupInvalid(Refused):
    """{path} cannot be restored: {detail}. Nothing was changed; use another backup."""

    exit_code = 5


class HomeNotEmpty(Refused):
    """{home} is not empty. Give another --home, or move that folder away first."""


class LogUnreadable(Unavailable):
    """The log at {path} cannot be read now ({detail}). It is not damaged; retry."""


class NoTeam(Refused):
    """There is no team in {home}. `muster init` writes its settings, `muster up` starts it."""

    exit_code = 6


class NoSuchTeam(NoTeam):
    """There is no team {team!r} in {place}. Name one that is there with --team; `muster up
    --database` begins a new one."""


class HomeHidden(Refused):
    """{home} is hidden from this isolated program. Ask the server, as `muster next` does."""

    exit_code = 6


class StillReading(Unavailable):
    """The log is still being read: {reached} of {wanted} events. Retry in a second."""


class StoreFailed(Unavailable):
    """The log could not be written ({detail}). Nothing was accepted. Make room on the disk, or make
    the home writable, then retry.
    """


class DatabaseFailed(StoreFailed):
    """The database did not take this ({detail}). Nothing was accepted. Retry when it works."""


class InDoubt(StoreFailed):
    """The database did not answer ({detail}), so it is not known whether this was carried out. Look
    before you send it again; with an idempotency key it can be sent again as it is.
    """


class Unsynced(StoreFailed):
    """The disk did not confirm what was written to the log ({detail}), so it is not known whether
    this was carried out. Look at the disk, and before you send it again; with an idempotency key it
    can be sent again as it is.
    """


class LogRewound(Unavailable):
    """The log in {place} lacks events that were answered: event {seq} is gone, or is another. The
    database was replaced by an older copy. Start muster again to go on from there.
    """

    exit_code = 5


class DatabaseUnusable(Unavailable):
    """The database {place} cannot be used ({detail}). Check its address, user and password, and
    that it runs.
    """


class LogInHome(Refused):
    """{home} keeps its log in team.db, not in {place}. `muster move-store` with that address moves
    it there; without store.database it stays where it is.
    """


class TeamTaken(Refused):
    """{place} has a team {team!r} already. `muster join` makes a home for it on another machine;
    a new team needs another name (store.team).
    """


class TeamLeft(Refused):
    """The team {team!r} was moved out of {place}. In the home that it was moved to, `muster
    move-store` brings it back; where that was interrupted, `muster move-store --back` finishes it.
    """


class TeamInUse(Refused):
    """A muster runs the team {team!r} in {place}. Stop it (`muster down`), then retry."""


class AlreadyMoved(Refused):
    """The log of {home} is in {place} already. Nothing was moved."""


class DatabaseInSettings(Refused):
    """{path} names a database (store.database), so a log in the home would be refused. Remove the
    line, or unset MUSTER_STORE_DATABASE, then retry: the home knows its database without it.
    """


class CopyDiffers(Unavailable):
    """The copy of the log in {place} differs from it ({detail}), so nothing was changed. Retry."""


class StoppedUnlogged(StoreFailed):
    """The log could not be written ({detail}). {name!r} is stopped all the same, and its pause is
    recorded when there is room. Make room on the disk, or make the home writable.
    """


class FileUnusable(Unavailable):
    """{path} cannot be used ({detail}). {remedy}"""


class HomeLost(Unavailable):
    """The home {home} was deleted or replaced while muster ran, and its log with it. Sessions were
    ended. Put the folder back from a backup, or start a new team there.
    """


class NotReady(Unavailable):
    """muster takes no commands now: {why}. Retry later."""


class Closed(Unavailable):
    """muster is stopping. Try again when it has started."""


class BadSettings(Refused):
    """{path}:{line}: {what}. {remedy}"""

    exit_code = 2


class BadSource(BadSettings):
    """{path}: {what}. {remedy}"""  # what has no lines: a variable, or something that is no file

    code = BadSettings.code


class SettingsConflict(Refused):
    """{what}. Look at the file again, and repeat the change."""


class AgentInSettings(Refused):
    """muster.toml has an agent {name!r} already. Choose another name, or change that agent with
    `muster agent edit {name}`.
    """


class SettingsGone(Refused):
    """{path} is gone, and the settings that it had are still in force. Put it back, then retry."""


class CannotEditSettings(Refused):
    """muster.toml is written in a form that muster cannot edit safely. Edit it by hand."""


class NoSuchChoice(Refused):
    """{agent!r} runs with the runtime {runtime!r}, which has no {what} to choose. Choose one in the
    program's own settings, or in its command.
    """


class NoSettingsFile(Refused):
    """This team has no settings file: it was opened without one."""


class TeamInSettings(Refused):
    """muster.toml has agents or channels already, and a template begins a team. Remove them first,
    or begin in another folder with `muster init --from`.
    """


class SettingsExist(Refused):
    """{path} exists already and was not changed. Edit it, or move it away first."""


class NotRunning(Unavailable):
    """No muster runs in {home}. `muster up` starts one."""


class CannotStop(Unavailable):
    """muster (process {pid}) could not be stopped, not even by SIGKILL. Its disk may hang."""


class NoSystemd(Unavailable):
    """systemd cannot be used here: {why}. `muster up --detach` runs the team in the background."""


class SystemdFailed(Unavailable):
    """`{command}` failed: {why}."""


class PortTaken(Unavailable):
    """Cannot listen on {host}:{port} ({detail}). Give another --host or --port."""


class TlsUnusable(Unavailable):
    """Cannot use the certificate {cert!r} with the key {key!r} ({why}). Give two PEM files."""


class Impossible(Broken):
    """{what}. This is a bug in muster; please report it with the output of `muster log --json`."""
