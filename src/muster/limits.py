"""Every limit, with its unit and its reason. Values that a user may change are settings."""

from typing import Final

NAME_CHARS_MAX: Final = 64
"""A name is shown in a tile of the grid and used in file names."""

SEAT_MAX: Final = 99_999
"""The last seat that a registration or a document may name: more than any team has."""

SUMMON_SEATS_MAX: Final = 64
"""Seats of one summon: each may become a process with a model."""

SOUL_BYTES_MAX: Final = 256 * 1024
"""A soul goes into every wake prompt; a quarter megabyte is a book."""

SOUL_DIFFERENCE_LINES_MAX: Final = 2000
"""Lines of the difference of two souls that are shown; both souls are shown whole elsewhere."""

SCRIPT_LINES_MAX: Final = 64
"""Lines of a scripted agent: they are arguments of its process."""

SCRIPT_LINE_CHARS_MAX: Final = 1000
"""One line of a script: what a person reads at once."""

TEMPLATE_BYTES_MAX: Final = 256 * 1024
"""A template of a team: a person reads it before it is used."""

TEMPLATE_AGENTS_MAX: Final = 64
TEMPLATE_CHANNELS_MAX: Final = 64
"""Agents and channels of one template: each agent may become a process with a model."""

TEMPLATE_ABOUT_CHARS_MAX: Final = 500
"""The description of a template: a line or two in a list."""

NOTE_BYTES_MAX: Final = 2048
"""One note of an agent to itself: a paragraph."""

NOTES_MAX: Final = 64
"""Notes of one agent: a person can still read them."""

NOTES_BYTES_MAX: Final = 32 * 1024
"""All notes of one agent: they go into every wake prompt, beside the largest soul."""

DIGEST_SESSIONS_MAX: Final = 24
"""Earlier sessions in the digest of a wake: what a person could still recall of them."""

DIGEST_WORDS_CHARS_MAX: Final = 300
"""The first words, the last words, a decision or a path in a digest: two or three sentences."""

DIGEST_ITEMS_MAX: Final = 8
"""Decisions, and files, of one earlier session in a digest."""

DIGEST_MESSAGES_MAX: Final = 5000
"""Messages and tool calls that are read for a digest: a wake must not read a log of years."""

REMEMBERED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Messages that are read for a transcript or a digest: sixteen times what a transcript has room
for."""

HEARD_MESSAGES_MAX: Final = 500
"""Words of others in one channel that a transcript has, the newest; it rarely has room for more."""

DIGEST_BYTES_MAX: Final = 16 * 1024
"""The whole digest: it goes into every wake prompt, beside the largest soul and all notes."""

WAKE_LINE_CHARS_MAX: Final = 200
"""The first line of a soul that a woken agent repeats: enough to tell two souls apart."""

YEAR_FIRST: Final = 1970
YEAR_LAST: Final = 8999
"""The years of a time in a document: sums and differences of them never overflow."""

CLOCKS_APART_SECONDS: Final = 86_400.0
"""How far the clock of another machine may be ahead. A later act is refused, because no act of a
person here could overrule it; a day forgives a local time without its zone."""

UNREAD_MAX: Final = 1000
"""Unread messages are counted up to here; a larger number would tell a reader no more."""

MESSAGE_BYTES_MAX: Final = 1024 * 1024
"""One message. Larger things are files, and files are named, not pasted."""

HELD_ACTS_MAX: Final = 64
HELD_BYTES_MAX: Final = 4 * MESSAGE_BYTES_MAX
"""Acts of one turn, and bytes of their words, that wait in memory while the turn is paused. An
agent that works on says a handful in the half minute that a person usually holds a turn; one that
does not stop would fill the memory otherwise."""

HANDOVERS_MAX: Final = 25
"""Hand-overs of one conversation in interactive mode; agents that pass it on without end cost
money, and a chain that people plan has a handful."""

NESTED_ASKS_MAX: Final = 3
"""How deep `muster ask` may be nested in agents that it runs: an agent that asks for help, whose
helper asks once more, is a plan; a longer chain is agents that call each other without end."""

DIALOGUE_CHARS_MAX: Final = 2_000_000
"""The dialogue of one conversation: more than anybody reads, and a browser still shows it. Two
agents that passed a task on all night once wrote 32 MB."""

STEPS_MAX: Final = 100
"""Thoughts, texts and tool calls of one agent in a dialogue; each is an event in the log."""

STEPS_BYTES_MAX: Final = 16 * 1024 * 1024
"""The end of a program's own transcript that is read for them; the program waits for it."""

MESSAGE_FILES_MAX: Final = 16
"""Files of one message: a folder is an archive."""

FILE_BYTES_MAX: Final = 8 * 1024 * 1024
"""One attached file. It is held in memory while it is sent."""

IMAGE_BYTES_MAX: Final = 3_750_000
"""One image of a prompt: the model takes 5 MB in base64. A larger one is told as a file."""

IMAGE_SIDE_MAX: Final = 8000
"""The width and the height of an image in pixels: the model takes no larger ones."""

PROMPT_IMAGES_BYTES_MAX: Final = 4 * IMAGE_BYTES_MAX
"""All images of a prompt: the model's request has a limit, too."""

FILES_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
"""All attached files of a team together: an agent in a loop must not fill the disk."""

FILE_NAME_BYTES_MAX: Final = 200
"""The name of an attached file: file systems take 255, and a download adds to it."""

FILE_UNUSED_SECONDS: Final = 24 * 3600.0
"""An uploaded file that no message names is removed after this."""

HOME_LOOK_SECONDS: Final = 1.0
"""How often a running muster looks whether its home is still there: one `stat`."""

DISK_LOOK_SECONDS: Final = 5.0
"""How often a running muster measures the disk of its home: one `statvfs`. At the most that one
token may send, the reserve lasts for several of these."""

DISK_RESERVE_BYTES: Final = 256 * 1024 * 1024
"""Space that uploads and large requests leave on the disk of the home, for the log."""

DISK_RESERVE_SHARE: Final = 0.1
"""The part of a small disk that is kept instead."""

DISK_FREED_FACTOR: Final = 1.25
"""A low disk counts as freed when so many times the reserve is left."""

DISK_LOW_WRITE_BYTES: Final = 64 * 1024
"""The largest request that is taken while the disk is low: a person's message, a stop, an answer,
and most messages of agents."""

FILE_CLEAN_SECONDS: Final = 3600.0
"""How often unused uploads are looked for while the server runs."""

UNNAMED_FILES_MAX: Final = 100
"""Uploads of one uploader that no message names: some messages with all the files they may have."""

UNNAMED_BYTES_MAX: Final = MESSAGE_FILES_MAX * FILE_BYTES_MAX
"""Bytes of such uploads: the files of one message must fit, and a team has room for many."""

SEARCH_CHARS_MAX: Final = 1000
"""The words of one search: more than anybody types, less than a request line holds."""

SEARCH_WORDS_MAX: Final = 32
"""Distinct words of one search: each is looked up in the index."""

KEYS_MAX: Final = 16_384
"""Idempotency keys in a generation, of which two are kept: half a minute of retries at 500/s."""

KEY_CHARS_MAX: Final = 128
"""A sender's idempotency key: a UUID and some."""

TRANSCRIPT_BYTES_MAX: Final = 256 * 1024
"""Transcript of the last session that a waking agent gets; the newest part."""

WAKE_TEXT_BYTES_MAX: Final = MESSAGE_BYTES_MAX - 1024
"""One agent's wake payload as XML, with room for the heading of the message it stands in. The
largest soul needs at most 3.3 times its size as XML (`views/memory/xml_text.py`): it fits whole."""

WAKE_BYTES_MAX: Final = 4 * MESSAGE_BYTES_MAX
"""All transcripts of one WAKE together: half of what may wait for a lead to read its stdin."""

WAKING_SECONDS: Final = 60.0
"""How long a lead has to report the agents that it was asked to wake, before it is asked again."""

REASON_CHARS_MAX: Final = 300
"""How much of a failure is kept as the reason of a turn's end."""

BADGE_LINE_CHARS: Final = 160
"""The line beside an agent's badge: it must fit a card. The log has the whole reason."""

BADGE_REASON_CHARS: Final = 100
"""The reason of a failure in that line: how often and the next try must fit beside it."""

QUEUE_SHOWN: Final = 20
"""Places in a channel's queue that are counted for a view; a later place tells a reader no more."""

NOTE_CHARS_MAX: Final = 500
"""A note or a reason: a sentence or two, to fit a table."""

USAGE_TOKENS_MAX: Final = 10**12
"""Tokens of one kind that one result may report: more than any model reads or writes in a month."""

USAGE_COST_USD_MAX: Final = 1_000_000.0
"""The cost that one result may report."""

USAGE_SUM_MAX: Final = 2**53
"""Upper bound of usage sums: the largest integer that every JSON parser represents exactly, and far
below the limit of a snapshot."""

REQUEST_BYTES_MAX: Final = 2 * MESSAGE_BYTES_MAX
"""One HTTP request: the largest message, with room for JSON escapes."""

HEAD_BYTES_MAX: Final = 64 * 1024
"""The request line and the headers of an HTTP request: browsers send a few kilobytes."""

DISCARDED_BYTES_MAX: Final = 64 * 1024 * 1024
"""How much of a request that is too large is read and discarded, so that the sender gets the
answer and not a connection reset."""

REQUESTS_PER_SECOND: Final = 1000.0
"""Rate limit of an agent or a viewer: far more than a caller that waits for answers needs, and low
enough that one busy loop leaves room for the others."""

OPERATOR_REQUESTS_PER_SECOND: Final = 20_000.0
"""Rate limit of the operator: more than one server can answer. It is their server."""

STRANGER_REQUESTS_PER_SECOND: Final = 100.0
"""Rate limit of all unauthenticated callers together; above it they get 429, not 401."""

STREAMS_MAX: Final = 64
"""Open event streams of one token of an agent or a viewer: more windows than anybody
has. A stream that is not read holds some memory."""

OPERATOR_STREAMS_MAX: Final = 8192
"""Open event streams of one token of the operator: thousands of subscribers are a supported use."""

STREAMS_ALL_MAX: Final = 16_384
"""Open event streams of all tokens together."""

BYTES_PER_MINUTE: Final = 64 * 1024 * 1024
"""Bytes that an agent, a member or a viewer may send in a minute: the largest message every second,
and too little to fill a disk while nobody looks."""

WRITES_PER_MINUTE: Final = 30_000
"""Requests a minute that may change something, of an agent or a member: more than any team needs,
and a log that grows by them can still be read."""

UNFINISHED_REQUESTS_MAX: Final = 1024
"""The most connections whose request has not arrived; with one more, the oldest is ended. A request
arrives within milliseconds, and each connection costs memory and time of the garbage collector."""

OPEN_BODY_BYTES_MAX: Final = 4096
"""The body of a request without a token: a code, or a token to sign in with."""

CONNECTION_RESERVE: Final = 256
"""Descriptors that connections leave for the log, files and programs; a quarter of few."""

HEAD_SECONDS: Final = 20.0
"""How long a request line and its headers may take, and a new connection be silent."""

BODY_SECONDS: Final = 120.0
"""How long the body of a request may take: the largest file over a slow line."""

BURST_SECONDS: Final = 2.0
"""Burst of a rate limit: unused capacity is kept for this long."""

PARTIAL_CHARS_MAX: Final = 65_536
"""The longest partial text that is kept for a turn: more than anybody reads while it is written."""

PARTIAL_SECONDS: Final = 0.1
"""Between two partial texts of a turn: text that grows ten times a second looks live."""

PEER_MESSAGES_MAX: Final = 200
"""Direct messages between agents after a person's last message: two models that thank each other
must come to an end."""

CHANNEL_MEMBERS_MAX: Final = 256
"""A round with more members would take hours, and the ring is copied at every change."""

MENTIONS_MAX: Final = 64
"""How many @ of a message are looked at: more than anybody addresses at once."""

CHOICES_KEPT_MAX: Final = 200
"""Choices of people that routing remembers; the oldest goes. Comparing a request with all of them
takes less than a millisecond."""

CHOICE_CHARS_MAX: Final = 500
"""How much of a request is remembered with a choice: its start tells what it is about."""

NEEDS_SETTLED_MAX: Final = 500
"""What people have put aside; the oldest goes. By then its occasion is over."""

LOOKERS_MAX: Final = 100
"""People whose last look at the team is remembered; who looked longest ago goes."""

GIT_SECONDS: Final = 60.0
"""How long git may take to answer: a status of a large repository on a busy disk."""

GIT_WRITE_SECONDS: Final = 600.0
"""How long git may take to write a work tree: a large one, through filters."""

GIT_BYTES_MAX: Final = 8 * 1024 * 1024
"""The output of one git command: the names of 100,000 files."""

CHANGED_FILES_MAX: Final = 1000
"""Changed files that are listed; a person reads no more."""

DIFF_BYTES_MAX: Final = 512 * 1024
"""The diff of one file that is shown."""

DIFF_FILE_BYTES_MAX: Final = 4 * 1024 * 1024
"""A changed file that is compared line by line; a larger one is only named."""

DIFF_LINE_CHARS_MAX: Final = 2000
"""A line of a diff that is shown: minified files have longer ones."""

WORKSPACES_KEPT_MAX: Final = 100
"""Closed workspaces that are remembered, the newest: their diffs are still shown."""

CONFLICT_FILES_MAX: Final = 50
"""Files in conflict that are recorded: more than a person resolves by hand."""

NEED_CHARS_MAX: Final = 240
"""The beginning of a message or request that needs a person: one line of a list."""

BURN_WINDOW_SECONDS: Final = 600.0
"""The window of a burn rate: long enough for one long piece of work, short enough to be now."""

BURN_SECONDS_MIN: Final = 60.0
"""A rate is measured over a minute or more: two quick pieces of work are no runaway."""

BURN_PIECES_MAX: Final = 64
"""Pieces of work that a rate remembers."""

RUNAWAY_PIECES_MIN: Final = 3
"""Pieces of work before a rate can stop anything: one expensive piece is no runaway."""

ALIKE_AMONG: Final = 4
"""A message is compared with so many before it: a small ring that repeats itself is noticed."""

ALIKE_CHARS: Final = 400
"""The part of a message that is compared."""

ALIKE_SHARE: Final = 0.75
"""The share of common words from which on two messages are alike."""

MORE_TURNS_MAX: Final = 1000
"""Turns that a person can allow at once beyond a limit."""

WORDS_TO_PERSON_MAX: Final = 20
"""Unseen messages of an agent, or of a channel, that are listed as needing a person."""

FAILED_REQUESTS_MAX: Final = 50
"""Failed requests that are kept for a person; the oldest goes."""

STUCK_SECONDS: Final = 30
"""An agent does something else than it should for longer than this: a session starts in less."""

FAILURES_TOLD: Final = 2
"""Failures in a row that need a person; a single one is tried again without."""

SNOOZE_SECONDS_MIN: Final = 60
SNOOZE_SECONDS_MAX: Final = 30 * 86_400
"""How long something can be put aside: a month."""

SELECTOR_ANSWER_CHARS: Final = 4000
"""How much of a selector's answer is searched for a name."""

STOP_PHRASE_CHARS_MAX: Final = 200
"""The longest stop phrase: a sentence."""

TURNS_MAX: Final = 1_000_000_000
"""The largest number of turns or rounds that a limit may be set to."""

IDLE_ROUNDS_MAX: Final = 1_000_000
"""The most silent rounds before a channel rests that may be configured: practically never."""

TURN_SECONDS_MIN: Final = 0.1
"""The shortest timeout that may be configured: no agent answers faster, and the log would fill."""

TURN_SECONDS_MAX: Final = 7 * 24 * 3600.0
"""The longest timeout that may be configured: a week."""

MAX_TURNS_MAX: Final = 64
"""How many turns one agent may hold at once."""

RENEW_FRACTION: Final = 0.125
"""Activity is logged only when it moves the deadline by this fraction of the timeout, so that a
chatty agent does not fill the log."""

HATCHING_SECONDS: Final = 300.0
"""Timeout of a birth: an agent without a name after five minutes counts as not born."""

INTERRUPT_SECONDS: Final = 10.0
"""Grace period after an interrupt, when a turn is lost, before the session is killed."""

KILL_SECONDS: Final = 10.0
"""Timeout of the confirmation of a kill; afterwards the channel goes on without it."""

FORMER_NAMES_MAX: Final = 8
"""Former names of an agent that are remembered: a program seldom outlives one rename."""

DISMISSAL_SECONDS: Final = 30.0
"""How long the session of an agent that was removed from the settings may take to end by itself:
enough for the end of a turn, and nobody waits for what was removed on purpose."""

INTERVAL_SECONDS_MAX: Final = 366 * 86_400.0
"""The longest interval between scheduled runs: a year, so that no sum of times overflows."""

MISSED_RUN_SECONDS: Final = 60.0
"""A scheduled run that is later than this was missed: muster was down, or the machine slept."""

SCHEDULE_LOOK_SECONDS: Final = 5.0
"""How often the wall clock is looked at for schedules: how late a run may be after it was set."""

PACE_SECONDS: Final = 1.0
"""Shortest interval between session starts of one agent under `continuous`, so that a program that
exits at once is not restarted in a busy loop."""

OUTPUT_BYTES_MAX: Final = 16 * 1024
"""Output in one event."""

RETRY_SECONDS_FIRST: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0
"""Backoff after failures: doubled from the first to the longest."""

RETRY_AFTER_SECONDS_MAX: Final = 7 * 24 * 3600.0
"""The longest pause that a program may ask for before its next session: limits on the use of a
model begin anew once a week at the latest."""

STORE_RETRY_SECONDS: Final = 1.0
"""The pause before something is sent again that the log could not take. It does not grow: all
senders share one failed write, and room on the disk should count at once."""

LOOP_STALL_SECONDS: Final = 1.0
"""How long one step may hold the event loop before that is an error in muster's log. A step takes
milliseconds; health must answer within a second."""

SLOW_STEP_SECONDS: Final = 0.1
"""How long one step may hold the event loop before it is a warning in muster's log: everybody else
waits for it."""

COUPLING_STEPS_MAX: Final = 100_000
"""Follow-up commands of one command. Booting a large team needs thousands; a loop is a bug."""

# ── sessions ──────────────────────────────────────────────────────────────────────────────────────

DRAIN_SECONDS: Final = 0.5
"""How long children may go on writing to the pipes of a program that has exited."""

LEAVE_SECONDS: Final = 0.5
"""How long such children then have after SIGTERM before they are killed."""

KILL_ROUND_SECONDS: Final = 1.0
"""How long one round of kills waits: a killed process is gone in a millisecond, if the disk lets
it. Ten rounds (`runtimes/process/processes.py`) stay within KILL_SECONDS."""

KILL_ROUNDS: Final = 10
"""How many rounds of kills look for processes that were started during the last one."""

OUTPUT_GATHER_SECONDS: Final = 0.05
"""How long output waits for more: too short to notice, long enough that a burst is one event."""

OUTPUT_BURST_BYTES: Final = 256 * 1024
"""How much output of a session is logged at once: more than anybody reads at a time."""

OUTPUT_BYTES_PER_SECOND: Final = 64 * 1024
"""How much output of a session is logged over time: a page of text every twentieth of a second.
The output file has all of it."""

OUTPUT_TAIL_BYTES: Final = 4096
"""How much of the end of a flood is logged: a program's last lines say why it exited."""

LAST_OUTPUT_BYTES_MAX: Final = 1024 * 1024
"""How much is read from the pipes of a session that has ended: what pipes hold, and not what a
process that escaped goes on to write."""

OUTPUT_LINE_BYTES_MAX: Final = 64 * 1024
"""One line of output. A longer one comes in pieces; only a message or a marker may be longer."""

SAID_LINE_BYTES_MAX: Final = 6 * MESSAGE_BYTES_MAX + 64 * 1024
"""One JSON line with a message: the longest message, each byte as a JSON escape, and the other
fields. Such a line is held in memory until it is whole, one for each program."""

MARKER_LINE_BYTES_MAX: Final = 6 * SOUL_BYTES_MAX + 64 * 1024
"""One line with an identity marker: the longest soul, each byte as a JSON escape (`\\u0001`), and
the other fields. Such a line is held in memory until it is whole."""

FENCE_IDLE_SECONDS: Final = 1.0
"""After how long without output a code block that a program left open ends with the next prompt: a
program that is writing a block does not pause so long in it, as a rule."""

OUTPUT_FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""One `output.log` before it is rotated: what an editor still opens."""

CPU_GRACE_SECONDS: Final = 5
"""CPU time between SIGXCPU and SIGKILL for a program over `cpu_seconds`: enough to say goodbye."""

CGROUP_EMPTY_SECONDS: Final = 5.0
"""How long the kernel may take to empty the cgroup of a session whose processes were killed."""

CGROUP_POLL_SECONDS: Final = 0.05
"""How often that is looked at; there is no event for a removal that has become possible."""

ENV_FILE_BYTES_MAX: Final = 64 * 1024
"""One `env_file`: Linux takes variables of 128 KiB each, and a secret is a line."""

STDIN_BYTES_MAX: Final = 8 * 1024 * 1024
"""How much may wait for a program to read its stdin: some of the largest messages."""

EXIT_REASON_CHARS_MAX: Final = 300
"""How much of a program's last lines is the reason of its exit: the end of them."""

LAST_WORDS_LINES: Final = 3
"""How many of a program's last lines on stderr are the reason of its exit."""

LAST_WORDS_BYTES_MAX: Final = 2048
"""How much of a program's output is kept for them: more than EXIT_REASON_CHARS_MAX needs."""

# ── Claude Code ───────────────────────────────────────────────────────────────────────────────────

PEERS_MAX: Final = 1000
"""Subagents of one session of Claude Code that it may send messages to."""

PEER_SESSIONS_MAX: Final = 1000
"""Sessions of Claude Code whose subagents are known: a killed one does not say that it is over."""

JSON_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""One message of a program that runs an agent: several pictures. A longer one is dropped."""

IMPORT_ALONE_SECONDS: Final = 30.0
"""How long an import waits for another one to end: the SDKs take a few seconds on a busy machine.
Less than `AGENT_CONNECT_SECONDS`, so that a module that never ends only delays an agent."""

AGENT_CONNECT_SECONDS: Final = 60.0
"""How long the program of an agent may take to come up, on a machine that is busy with others of
its kind."""

AGENT_SETTING_SECONDS: Final = 10.0
"""How long a running program may take to accept another model or permission mode."""

AGENT_DISCONNECT_SECONDS: Final = 10.0
"""How long a program's connection may take to close, or to give up a cancelled call."""

AGENT_MESSAGES_MAX: Final = 100
"""How many messages of a program wait for the one before them to be recorded; then it waits."""

CLAUDE_ANSWER_SECONDS: Final = 60
"""How long a model server may stay silent before it is asked again: the slowest begins to answer
within half a minute."""

CLAUDE_RETRY_AFTER_SECONDS_MAX: Final = 60.0
"""How long a session waits for a model server that asks for a pause; a longer one ends the session,
so that people see when the next one starts."""

CLAUDE_SILENCE_SECONDS: Final = 15.0
"""After how long a silent model server is reported: longer than a model usually thinks."""

AGENT_PULSE_SECONDS: Final = 5.0
"""How often a tool that takes its time counts as a sign of work."""

TURNS_SHOWN_MAX: Final = 200
"""How many turns in a worktree are listed with their changes: as many as a person looks through."""

PLAN_STEPS_MAX: Final = 100
PLAN_STEP_CHARS_MAX: Final = 300
"""How much of an agent's plan is logged, each time that it changes: a plan that a person reads."""

ACTIVITY_CHARS_MAX: Final = 4000
"""How much of a tool call, its result or a summary is logged: a change of a hundred lines. The
output file has all of it."""

LINE_ID_CHARS_MAX: Final = 200
"""Characters of an id that a program gives to a tool call or a request in its JSON lines."""

LINE_NAME_CHARS_MAX: Final = 80
"""Characters of the name of a tool in a JSON line: as much as a page shows."""

OPEN_CALLS_MAX: Final = 256
"""Tool calls of a program that may be open at once. It is not trusted to end them."""

OPEN_REQUESTS_MAX: Final = 16
"""Requests for approval that a program may have open at once: a person answers each."""

APPROVAL_CHANGE_CHARS_MAX: Final = 8000
"""How much of the difference of a file a person is shown for approval."""

APPROVAL_EFFECTS_MAX: Final = 12
"""Effects of a command line that a person is shown for approval."""

APPROVAL_FILE_BYTES_MAX: Final = 1024 * 1024
"""The largest file whose difference is computed: a person waits for it."""

APPROVAL_FILES_COUNTED_MAX: Final = 10_000
"""Files of a folder that are counted before it is deleted."""

APPROVAL_DETAIL_CHARS_MAX: Final = 4000
"""How much of a tool call a person is shown for approval: more than anybody reads."""

APPROVALS_OPEN_MAX: Final = 64
"""Open requests of one agent: more than calls in parallel, and no flood for the person."""

# ── clocks ────────────────────────────────────────────────────────────────────────────────────────

CLOCK_STEP_SECONDS: Final = 2.0
"""How far the wall clock may step before that is a jump: time servers correct less than a second,
and whoever sets a clock by hand sets it by more."""

CLOCK_LOOK_SECONDS: Final = 10.0
"""How often an idle muster looks for a jump of the wall clock. Only shown ages depend on it: every
command looks first."""

# ── files that others write too ───────────────────────────────────────────────────────────────────

STATE_FILE_BYTES_MAX: Final = 1024 * 1024
"""The longest `agent_state.json` that is read: five short fields, and room for what others keep
there."""

INBOX_BYTES_MAX: Final = 8 * 1024 * 1024
"""The longest inbox file that is read: eight of the longest messages, or 20,000 usual ones."""

INBOX_ITEMS_MAX: Final = 10_000
"""The most items of an inbox file, whose keys are computed at each change."""

INBOX_COMMAS_MAX: Final = 200_000
"""The most commas of an inbox file. They bound the values in it before it is parsed, which holds
the interpreter for less than a tenth of a second then."""

FILE_SETTLE_SECONDS: Final = 0.2
"""How long a file may be missing or malformed before that counts: a writer in place truncates
first, and some editors move a file away before they bring the new one."""

SETTINGS_SETTLE_SECONDS: Final = 0.1
"""How long `muster.toml` must be quiet before it is read: editors write in several steps."""

SETTINGS_DOUBT_SECONDS: Final = 0.5
"""How long a mistake, a missing file or the removal of an agent must stay before it counts: half a
file can be valid, and lacks the agents at its end."""

VERSION_SECONDS: Final = 5.0
"""How long an installed program may take to print its version; Node needs about one second."""

VERSION_CHARS_MAX: Final = 80
"""The longest version of a program that is shown."""

SETTINGS_CHANGES_MAX: Final = 100
"""Changed settings that one event names; more are counted."""

SETTINGS_DEPTH_MAX: Final = 32
"""Levels of tables and lists in a settings file: five are needed, and what reads them recurses."""

SETTINGS_BYTES_MAX: Final = 1024 * 1024
"""The longest settings file, as `regular_files` reads it."""

FILE_LATE_SECONDS: Final = 0.25
"""How long a writer in place may go on writing into a file that was replaced under it."""

FILE_LOCK_SECONDS: Final = 2.0
"""How long another process may hold the lock of an inbox file before that is an error."""

FILE_RETRY_SECONDS_MAX: Final = 10.0
"""The longest pause before a file that could not be read or written is tried again. Shorter than
RETRY_SECONDS_MAX: trying costs nothing, and a person who mends a file waits for the result."""

FILE_POLL_SECONDS: Final = 1.0
"""How often a file is polled whose folder cannot be watched."""

FILE_LOOK_SECONDS: Final = 10.0
"""How often every file and every lock is polled, watched or not: notifications can be lost."""

FILE_UNWRITTEN_SECONDS_MAX: Final = 60.0
"""The longest pause before a state file that cannot be written is tried again: each attempt writes
and flushes a draft beside it."""

FILE_CORRECTIONS_MAX: Final = 20
"""How often muster corrects its own fields in a state file within `FILE_CORRECTIONS_SECONDS`: more
than any person edits, and few enough that a second program that corrects it too costs nothing."""

FILE_CORRECTIONS_SECONDS: Final = 60.0
"""The time in which corrections of a state file are counted."""

LOOP_SILENT_SECONDS: Final = 300.0
"""How long a loop that follows its state file may write nothing before it is unknown whether it
runs. A loop writes with every session, and most sessions are shorter."""

LOOP_EVIDENCE_SECONDS: Final = 10.0
"""How often writes of a loop are noted that change nothing: an idle loop writes every few seconds,
and the log need not grow with each."""

INBOX_READ_SECONDS: Final = 60.0
"""How long a message may lie unread in the inbox file of an agent that is awake inside its lead:
then the lead is asked to hand it on. A model may be in the middle of long work."""

ROUTED_MESSAGES_KEPT: Final = 32
"""Messages of an agent whose way is remembered, the newest: a page of a chat shows few more."""

FILE_RACE_SECONDS: Final = 5.0
"""How long after a write another program may still overwrite it with what it had read before."""
