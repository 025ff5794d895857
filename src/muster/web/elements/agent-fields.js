// The fields of the dialogs about an agent's settings, in their sections. What a value means is in docs/reference/settings.md.

const MODES = {
  "": "Ask before anything that changes something",
  acceptEdits: "Edit files without asking",
  plan: "Plan only",
  dontAsk: "Never ask: deny what is not allowed",
};
const SANDBOXES = {
  "": "Read only; anything else needs an approval",
  "workspace-write": "Write in its working folder",
};
const EDITS = {
  "": "Ask before each edit",
  allow: "Edit files in its working folder without asking",
};
const PRESETS = {
  gemini: "Gemini CLI",
  opencode: "opencode",
  qwen: "Qwen Code",
  "codex-acp": "Codex, by its adapter",
  "claude-acp": "Claude Code, by its adapter",
};
const ONCE = {
  "": "The command above",
  "claude-p": "Claude Code (claude -p)",
  "codex-exec": "Codex (codex exec)",
  "gemini-p": "Gemini CLI (gemini -p)",
  "opencode-run": "opencode (opencode run)",
  aider: "aider",
};
const PLACES = {
  "": "Everywhere; in tasks as the team's settings say",
  outputs: "Its outputs only",
  worktree: "Its working folder and its outputs",
  none: "Everywhere, in tasks too",
};
const RESTARTS = {
  "": "Always; after a failure with backoff",
  "on-failure": "After a failure; a success pauses it",
  never: "Never; it is paused after a session",
};
const SILENCES = {
  "": "Tell: log it and show it",
  interrupt: "Interrupt its work",
  restart: "Restart its session",
};

const WORKSPACES = {
  "": "Its working folder",
  worktree: "A git worktree of its own",
};

const HANDOVERS = {
  "": "A digest of earlier sessions, and the last transcript",
  digest: "The digest alone",
  last: "The last transcript alone",
  none: "Neither; soul and notes only",
};

/** Sections of fields. A field has its key below the agent's table, a label, and its kind: `text` unless it says
 *  `command`, `list`, `number`, `flag` or `choices`. `runtime` and `needs` (another key) say when it counts. */
export const SECTIONS = [
  {
    fields: [
      {
        key: "command",
        kind: "command",
        label: "Command",
        hint: "Program and arguments, as in a terminal; no shell reads it.",
        runtime: "command",
        placeholder: "./build.sh --fast",
      },
      {
        key: "preset",
        label: "Or a program for one piece of work",
        hint: "It runs when there is work: a turn, a message, a scheduled time.",
        runtime: "command",
        choices: ONCE,
      },
      { key: "cwd", label: "Working folder", placeholder: "the folder of the team" },
      { key: "confine", label: "May write", choices: PLACES },
      { key: "workspace", label: "Works in", choices: WORKSPACES },
      { key: "claude.model", label: "Model", runtime: "claude", placeholder: "Claude Code's default" },
      { key: "claude.permission_mode", label: "Permissions", runtime: "claude", choices: MODES },
      { key: "codex.model", label: "Model", runtime: "codex", placeholder: "Codex's default" },
      { key: "codex.sandbox", label: "Sandbox", runtime: "codex", choices: SANDBOXES },
      { key: "codex.edits", label: "Edits", runtime: "codex", choices: EDITS },
      { key: "acp.preset", label: "Program", runtime: "acp", choices: PRESETS },
      { key: "acp.model", label: "Model", runtime: "acp", placeholder: "the program's default" },
      { key: "acp.edits", label: "Edits", runtime: "acp", choices: EDITS },
      {
        key: "budget.cost_usd",
        kind: "number",
        label: "Budget ($)",
        placeholder: "no limit in all, 20 a day",
      },
      { key: "description", label: "Description", placeholder: "what it is for" },
    ],
  },
  {
    title: "When it runs",
    fields: [
      { key: "restart", label: "Restart", choices: RESTARTS },
      {
        key: "loop",
        kind: "flag",
        label: "Run again and again: it finds its own work",
        runtime: "command",
      },
      { key: "autostart", kind: "flag", label: "Start with muster, unless it was paused" },
      {
        key: "every",
        label: "Every",
        placeholder: "30m",
        hint: "One session at each interval, instead of one after another: 90s, 30m, 2h, 1d.",
      },
      {
        key: "schedule",
        label: "Schedule",
        placeholder: "0 9 * * MON-FRI",
        hint: "Or at these times: minute, hour, day, month, weekday.",
      },
      { key: "timezone", label: "Time zone", placeholder: "UTC", needs: "schedule", suggests: zones },
      { key: "after", kind: "list", label: "Runs after", hint: "Agents that must run first, with commas." },
      { key: "groups", kind: "list", label: "Groups", placeholder: "web, nightly" },
      {
        key: "silent_seconds",
        kind: "number",
        label: "Silence (s)",
        placeholder: "not watched",
        hint: "Longest time without a sign of work.",
      },
      { key: "on_silence", label: "When silent", choices: SILENCES, needs: "silent_seconds" },
    ],
  },
  {
    title: "When it wakes",
    fields: [
      { key: "handover", label: "It is given", choices: HANDOVERS },
      { key: "wake_check", kind: "flag", label: "Ask it who it is, and compare" },
    ],
  },
  {
    title: "Limits",
    fields: [
      { key: "budget.tokens", kind: "number", label: "Tokens", placeholder: "no limit" },
      {
        key: "budget.sessions_per_hour",
        kind: "number",
        label: "Sessions an hour",
        placeholder: "no limit",
      },
      { key: "budget.session_seconds", kind: "number", label: "Session length (s)", placeholder: "no limit" },
      { key: "budget.failures", kind: "number", label: "Failures in a row", placeholder: "no limit" },
      { key: "memory_mb", kind: "number", label: "Memory (MiB)", placeholder: "no limit" },
      { key: "cpu_percent", kind: "number", label: "CPU (% of a core)", placeholder: "no limit" },
      { key: "processes", kind: "number", label: "Processes", placeholder: "no limit" },
    ],
  },
];

/** Time zones, the browser's own first. */
function zones() {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return [here, ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== here)];
}
