// The log in sentences, newest first, updated live. Filters by type, agent and channel run on the server.

import { plain } from "../ansi.js";
import { get } from "../api.js";
import { h, keyed, pushButton, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { openDialog } from "./dialog.js";

const ROWS = 150;
const TYPED_MS = 300; // pause in typing after which older events are searched
const OLDER = 1000; // events of a page of them
const PAGES = 50;
const ENOUGH = 40;
const ASK_MS = 200;
const AGAIN_MS = 1000; // retry interval while the server is unreachable
const GROUPS = {
  "all events": "",
  "state changes": "state_transition",
  messages: "user_message,agent_message,announcement",
  output: "agent_output,session_result",
  activity: "agent_activity,prompt_taken",
  approvals: "approval_requested,approval_answered",
  costs: "session_result,usage_recorded",
  sessions: "session_requested,session_start,session_end,stop_requested,retry_scheduled,desired_set",
  "agents and members":
    "agent_registered,agent_enrolled,agents_summoned,agent_confirmed,agent_status,member_joined,member_left,wake_requested,sleep_requested",
  delegation:
    "delegation_started,delegation_ended,conversation_start,routed,permission_denied,file_recorded,conversation_end",
  problems: "command_refused,warning_logged,marker_rejected,conflict,kill_requested,permission_denied",
};
const EDGES = {
  state_transition: "accent",
  user_message: "alive",
  agent_message: "alive",
  agent_output: "line",
  command_refused: "bad",
  warning_logged: "amber",
  conflict: "bad",
  session_end: "amber",
  approval_requested: "amber",
  approval_answered: "alive",
};

class LiveLog extends Part {
  #last = null;
  #heard = 0;
  #due = null;
  #run = 0;
  #lines = [];
  #found = []; // older events with the words of the filter
  #searched = 0;
  #typing = null;

  start() {
    const chosen = (label, options) =>
      h("select", { "aria-label": label, on: { change: () => this.#begin() } }, options);
    this.kind = chosen(
      "Filter by type",
      Object.entries(GROUPS).map(([name, types]) => h("option", { text: name, value: types })),
    );
    this.agent = chosen("Filter by agent", [h("option", { text: "all agents", value: "" })]);
    this.channel = chosen("Filter by channel", [h("option", { text: "all channels", value: "" })]);
    this.words = h("input", {
      type: "search",
      placeholder: "filter",
      "aria-label": "Filter by text",
      on: { input: () => this.#search() },
    });
    this.pause = pushButton("", () => this.#hold(!this.held), { "aria-pressed": "false" });
    this.list = h("ul", { class: "lines", tabindex: "0", "aria-label": "Events, newest first" });
    this.empty = h("p", { class: "muted", text: "No matching events.", hidden: true });
    this.told = h("p", { class: "muted", role: "status", hidden: true });
    this.replaceChildren(
      h("h2", { text: "Log" }),
      h("div", { class: "row filters" }, this.kind, this.agent, this.channel, this.words, this.pause),
      this.empty,
      this.list,
      this.told,
    );
    this.watch(["agents", "channels"], () => this.#paintChoices());
    this.listen((events) => {
      this.#heard = events.at(-1).seq;
      this.#askSoon();
    });
    this.watch("events", () => store.events.length === 0 && this.#last !== null && this.#begin()); // the log was replaced
    this.until(() => {
      clearTimeout(this.#due);
      clearTimeout(this.#typing);
    });
    this.#hold(false);
  }

  /** Show the log up to a moment in the past (a team state), or live (null). */
  show(state) {
    this.upto = state?.seq ?? null;
    this.#begin();
  }

  #hold(held) {
    this.held = held;
    this.pause.setAttribute("aria-pressed", String(held));
    setText(this.pause, held ? "Resume" : "Pause");
    if (!held && this.#last !== null) this.#askSoon();
  }

  #paintChoices() {
    const options = (select, names) =>
      keyed(
        select,
        ["", ...names],
        (name) => name,
        (name) => h("option", { value: name, text: name || select.firstElementChild.textContent }),
      );
    for (const [select, names] of [
      [this.agent, store.shown.map(({ id }) => id)],
      [this.channel, [...store.channels.keys()].sort()],
    ]) {
      if (select.keyedChildren === undefined)
        select.keyedChildren = new Map([["", select.firstElementChild]]);
      options(select, names);
    }
  }

  // ── loading ─────────────────────────────────────────────────────────────────────────────────────

  #begin() {
    this.#last = null;
    this.#lines = [];
    this.#search();
    this.#run += 1;
    this.#ask(this.#run);
  }

  #askSoon() {
    if (this.held || this.upto !== null || this.#last === null) return; // the next full load includes these events
    this.#due ??= setTimeout(() => {
      this.#due = null;
      this.#ask(this.#run);
    }, ASK_MS);
  }

  #where(limit) {
    const where = new URLSearchParams({ limit });
    for (const [name, select] of [
      ["types", this.kind],
      ["agent", this.agent],
      ["channel", this.channel],
    ])
      if (select.value) where.set(name, select.value);
    return where;
  }

  /** Filter by words: older events are loaded until enough are found. */
  #search() {
    this.#paint();
    clearTimeout(this.#typing);
    this.#found = [];
    setHidden(this.told, true);
    const run = ++this.#searched;
    if (this.words.value.trim()) this.#typing = setTimeout(() => this.#searchBack(run), TYPED_MS);
  }

  async #searchBack(run) {
    let before = this.#lines.at(-1)?.seq ?? 0;
    for (let page = 0; page < PAGES && before > 1 && this.#shown.length < ENOUGH; page += 1) {
      const where = this.#where(OLDER);
      where.set("before", before);
      const { lines } = await get(`/api/log/told?${where}`).catch(() => ({ lines: [] }));
      if (run !== this.#searched || !this.isConnected) return;
      if (!lines.length) before = 1;
      else before = lines[0].seq;
      this.#found.push(...lines.reverse().filter((line) => this.#fits(line)));
      this.#paint();
    }
    setText(
      this.told,
      before > 1 ? `Searched back to event ${before}.` : "Searched to the beginning of the log.",
    );
    setHidden(this.told, false);
  }

  async #ask(run) {
    const where = this.#where(ROWS);
    if (this.upto !== null) where.set("after", Math.max(-1, this.upto - (where.size > 1 ? 1000 : ROWS)));
    else if (this.#last !== null) where.set("after", this.#last);
    const page = await get(`/api/log/told?${where}`).catch(() => null);
    if (run !== this.#run || !this.isConnected) return;
    if (!page) {
      this.#due ??= setTimeout(() => {
        this.#due = null;
        this.#ask(run);
      }, AGAIN_MS);
      return;
    }
    this.#last = page.after;
    const fresh = page.lines.filter(({ seq }) => this.upto === null || seq <= this.upto);
    this.#lines = [...fresh.reverse(), ...this.#lines].slice(0, ROWS);
    this.#paint();
    if (page.more && this.upto === null) this.#ask(run);
    else if (this.#heard > this.#last) this.#askSoon(); // events arrived while the response was in flight
  }

  // ── painting ───────────────────────────────────────────────────────────────────────────────────

  #paint() {
    const shown = this.#shown;
    keyed(
      this.list,
      shown,
      ({ seq }) => seq,
      (line) => this.#row(line),
      (row, line) => row.toggleAttribute("data-chosen", line.seq === this.upto),
    );
    setHidden(this.empty, shown.length > 0);
  }

  get #shown() {
    const oldest = this.#lines.at(-1)?.seq ?? Infinity;
    const older = this.#found.filter(({ seq }) => seq < oldest);
    return [...this.#lines.filter((line) => this.#fits(line)), ...older].slice(0, ROWS);
  }

  #fits({ says, type }) {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const line = `${says} ${type}`.toLowerCase();
    return words.every((word) => line.includes(word));
  }

  #row({ seq, ts, type, says }) {
    const choose = () => this.dispatchEvent(new CustomEvent("choose", { detail: { seq }, bubbles: true }));
    return h(
      "li",
      { data: { edge: EDGES[type] ?? "", seq } },
      pushButton(seq, choose, {
        class: "quiet seq",
        title: `${type}: show the team at this event`,
        "aria-label": `Event ${seq}: show the team at this event`,
      }),
      h("time", {
        class: "age",
        datetime: ts,
        text: new Date(ts).toLocaleTimeString(),
        title: new Date(ts).toLocaleString(),
      }),
      h("span", { class: "says", text: plain(says) }),
      pushButton("why", () => tellWhy(seq), { class: "quiet", "aria-label": `Why event ${seq} happened` }),
    );
  }
}

/** A dialog with the chain of causes of an event. */
async function tellWhy(seq) {
  const list = h("ol", { class: "causes" });
  openDialog(`Why event ${seq} happened`, list);
  const answer = await get(`/api/why?seq=${seq}`).catch((problem) => ({
    accounts: [{ steps: [{ seq, text: problem.message }] }],
  }));
  for (const step of answer.accounts.flatMap(({ steps }) => steps)) {
    list.append(
      h("li", {}, h("span", { class: "age", text: `${step.seq}` }), h("span", { text: step.text })),
    );
  }
}

customElements.define("live-log", LiveLog);
