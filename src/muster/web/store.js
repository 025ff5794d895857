// Cache of the team's state, as the server last reported it.
//
// An event says which part changed; the store then reloads that part (GET /api/state?seats=…). The page computes no
// state by itself, so it cannot disagree with the server. Views watch a topic and are called after a change,
// at most about every 80 ms.
//
//   topics:  team  agents  agent:9  channels  channel:design  partial:design  events  pending  status  looking

import { plain } from "./ansi.js";
import { get, idOf } from "./api.js";
import { callLine } from "./calls.js";
import { secondsUntil, setServerTime } from "./clock.js";
import { follow } from "./stream.js";

const PAINT_MS = 80;
const ASK_MS = 60;
const HIDDEN_MS = 500;
const EVENTS_KEPT = 1000;
const CONFIRM_MS = 5000;
const LATE_MS = 200; // after a change that comes with time
const LONGEST_TIMER_MS = 3600 * 1000;
const OF_NEEDS = /^(conversation_end|disk_reported|need_settled|need_reopened|workspace_\w+)$/; // name no seat and no channel
const NOTED = "agent_output,agent_message,agent_activity";
const WHOLE = new Set([
  "muster_started",
  "muster_stopping",
  "muster_stopped",
  "node_lost",
  "node_returned",
  "documents_imported",
]); // each may change every badge
const BEGINNINGS = new Set(["tool_call", "helper_started"]); // activities that begin; finished ones are not shown

class Store {
  #watchers = new Map();
  #touched = new Set();
  #painting = null;
  #painted = 0;
  #seats = new Set();
  #channels = new Set();
  #whole = false;
  #asking = false;
  #reached = new Set();
  #listeners = new Set();
  #again = null; // the timer of the next change of needs

  seq = 0;
  human = "you";
  version = "";
  boot = "";
  button = null;
  births = false;
  nodes = 1; // how many machines run the team
  reader = false; // whether one is signed in as a viewer, who changes nothing
  notice = "";
  needs = { needs: [], putOff: 0, changesAt: null }; // what needs a person
  member = false; // whether one is signed in as a member, who takes part but changes no settings
  user = ""; // the name that one acts under
  scope = null; // {agents, channels} that a member may act on, if it is not the whole team
  settingsProblem = ""; // the mistake in the settings file, for operators
  settingsWaiting = []; // settings that hold after a restart of muster
  agents = new Map(); // by seat
  channels = new Map(); // by name
  notes = new Map(); // by seat: {doing, calls}, from events
  events = []; // the newest EVENTS_KEPT, oldest first
  looking = []; // the people who have the page open, by name
  partials = new Map(); // by channel: the text that the turn holder has written so far
  pending = new Map(); // actions not confirmed yet: key to {label, since}
  failed = new Map(); // actions refused or not confirmed in time: key to the error
  status = { state: "connecting", since: Date.now() };
  ready = false;

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  /** An agent by name, or by document id (agent-identity:3) while it has no name. */
  agent(id) {
    const key = id.toLowerCase();
    return [...this.agents.values()].find((each) => each.id.toLowerCase() === key) ?? null;
  }

  /** The agent of a link: in the seat that it led to before, if the name is or was that agent's; else by its name, or
   *  by the only one that was called so. */
  agentOf(name, seat) {
    const key = name.toLowerCase();
    const was = (agent) => [idOf(agent), ...agent.formerNames].some((each) => each.toLowerCase() === key);
    const before = this.agents.get(seat);
    if (before && (before.id.toLowerCase() === key || was(before))) return before;
    const former = [...this.agents.values()].filter(was);
    return this.agent(name) ?? (former.length === 1 ? former[0] : null);
  }

  channel(name) {
    return this.channels.get(name) ?? null;
  }

  /** Whether one is signed in as an operator, who changes everything. */
  get operates() {
    return !this.reader && !this.member;
  }

  /** Whether one may act on an agent, or on what happens in a channel. */
  mayActOn = ({ seat, channel }) => {
    if (!this.scope) return true;
    const { agents = [], channels = [] } = this.scope;
    return channel ? channels.includes(channel) : agents.includes(seat);
  };

  /** An agent with the controls that one may press. */
  #offered(agent) {
    if (this.mayActOn({ seat: agent.seat })) return agent;
    return { ...agent, badge: { ...agent.badge, controls: [], more: [] } };
  }

  /** The visible agents, by seat: without expired and retired ones. */
  get shown() {
    return [...this.agents.values()]
      .filter((each) => each.status !== "expired" && !each.retired)
      .sort((a, b) => a.seat - b.seat);
  }

  note(seat) {
    return this.notes.get(seat) ?? {};
  }

  // ── watching ─────────────────────────────────────────────────────────────────────────────────

  /** Call `paint` after a topic changed. Returns a function that ends it. */
  watch(topic, paint) {
    if (!this.#watchers.has(topic)) this.#watchers.set(topic, new Set());
    this.#watchers.get(topic).add(paint);
    return () => this.#watchers.get(topic).delete(paint);
  }

  /** Receive every batch of events before it is painted. Returns a function that ends it. */
  listen(hear) {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  touch(...topics) {
    for (const topic of topics) this.#touched.add(topic);
    if (this.#painting !== null) return;
    const wait = document.hidden ? HIDDEN_MS : Math.max(0, this.#painted + PAINT_MS - performance.now());
    this.#painting = setTimeout(() => this.#paint(), wait);
  }

  #paint() {
    this.#painting = null;
    this.#painted = performance.now();
    const touched = [...this.#touched];
    this.#touched.clear();
    const paints = new Set(touched.flatMap((topic) => [...(this.#watchers.get(topic) ?? [])]));
    for (const paint of paints) paint();
  }

  // ── following ───────────────────────────────────────────────────────────────────────────────────

  /** Load the whole state, then follow the events. */
  async open() {
    await this.#askUntilAnswered();
    follow(this.seq, (told) => this.#hear(told));
    this.#remember();
  }

  async #askUntilAnswered() {
    for (;;) {
      try {
        return this.#take(await get("/api/state"));
      } catch (problem) {
        if (problem.status === 401) return this.#become("signed out");
        this.#become("reconnecting");
        await pause(1000);
      }
    }
  }

  /** Load the notes of the time before the page was opened. */
  async #remember() {
    const { events } = await get(`/api/log?types=${NOTED}&limit=300`).catch(() => ({ events: [] }));
    const newer = this.notes;
    this.notes = new Map();
    for (const event of events) this.#noteDown(event);
    for (const [seat, note] of newer) this.notes.set(seat, { ...this.notes.get(seat), ...note });
    this.touch("team", "agents", ...[...this.notes.keys()].map((seat) => `agent:${seat}`));
  }

  #hear(told) {
    if (told.status) this.#connected(told.status);
    if (told.reset !== undefined) this.#startAnew(told.reset);
    if (told.events) this.#heard(told.events);
    if (told.partial) this.#written(told.partial);
    if (told.looking) this.#see(told.looking);
  }

  #connected({ state, since }) {
    this.#become(state, since);
    if (state === "reconnecting") this.#checkSignedIn();
  }

  async #checkSignedIn() {
    await get("/api/state?seats=0").catch(({ status }) => status === 401 && this.#become("signed out"));
  }

  #become(state, since = Date.now()) {
    if (this.status.state === state) return;
    this.status = { state, since };
    this.touch("status");
  }

  /** The log was replaced, or this tab is too far behind: reload everything. */
  #startAnew() {
    this.events = [];
    this.seq = 0;
    this.touch("events");
    this.#askFor({ whole: true });
  }

  #heard(events) {
    for (const event of events) {
      this.#mark(event);
      this.#noteDown(event);
    }
    this.events.push(...events);
    if (this.events.length > EVENTS_KEPT * 1.5) this.events.splice(0, this.events.length - EVENTS_KEPT);
    for (const hear of this.#listeners) hear(events);
    this.touch("events");
    this.#askFor({});
  }

  #see(people) {
    this.looking = people;
    this.touch("looking");
  }

  #written(partial) {
    if (partial.text) this.partials.set(partial.channel, partial);
    else this.partials.delete(partial.channel);
    this.touch(`partial:${partial.channel}`);
  }

  /** Mark the parts of the state that an event may have changed. */
  #mark(event) {
    if (WHOLE.has(event.type)) this.#whole = true;
    // an agent that has left is in no answer about its seat
    if (event.type.startsWith("settings_") || event.type === "agent_retired") this.#whole = true;
    if (event.type === "agent_restored") this.#whole = true; // another agent may have its place
    if (Number.isInteger(event.seat)) this.#seats.add(event.seat);
    for (const seat of event.seats ?? []) this.#seats.add(seat);
    for (const each of [...(event.placeholders ?? []), event.agent, ...listed(event.agents)]) {
      if (Number.isInteger(each?.gridPosition)) this.#seats.add(each.gridPosition);
    }
    for (const seat of event.confirmed ?? []) this.#seats.add(seat);
    if (event.channel) this.#channels.add(event.channel);
    if (OF_NEEDS.test(event.type)) this.#seats.add(0); // any part of the state has the needs with it
  }

  #noteDown(event) {
    const seat = event.seat ?? event.seats?.[0];
    if (!Number.isInteger(seat)) return;
    const note = { ...this.notes.get(seat) };
    if (event.type === "agent_output") note.doing = { text: lastLine(event.text), at: event.ts };
    else if (event.type === "agent_message")
      note.doing = { text: lastLine(event.content.map((each) => each.text).join("\n")), at: event.ts };
    else if (event.type === "agent_activity" && BEGINNINGS.has(event.kind)) {
      note.doing = { text: lastLine(callLine(event.name, event.text)), at: event.ts };
      note.calls = true;
    } else return;
    this.notes.set(seat, note);
    this.touch("team", `agent:${seat}`);
  }

  // ── reloading ─────────────────────────────────────────────────────────────────────────────

  async #askFor({ whole = false }) {
    this.#whole ||= whole;
    if (this.#asking) return;
    this.#asking = true;
    try {
      while (this.#whole || this.#seats.size || this.#channels.size) await this.#askOnce();
      this.#reach(this.events.at(-1)?.seq ?? 0); // events that change no agent or channel need no reload
    } finally {
      this.#asking = false;
    }
  }

  /** The marked seats, and those whose agents run after one of these agents: their badge says what they wait for. */
  #withDependents() {
    const names = new Set([...this.#seats].map((seat) => this.agents.get(seat)?.id.toLowerCase()));
    const waits = ({ after }) => after.some((name) => names.has(name.toLowerCase()));
    for (const each of this.agents.values()) if (waits(each)) this.#seats.add(each.seat);
    return [...this.#seats];
  }

  async #askOnce() {
    const [whole, seats, channels] = [this.#whole, this.#withDependents(), [...this.#channels]];
    this.#whole = false;
    this.#seats.clear();
    this.#channels.clear();
    const named = channels.every((name) => !name.includes(","));
    const parts = new URLSearchParams({ seats: seats.join(","), channels: channels.join(",") });
    const rested = pause(document.hidden ? HIDDEN_MS : ASK_MS);
    try {
      this.#take(await get(whole || !named ? "/api/state" : `/api/state?${parts}`));
    } catch (problem) {
      if (problem.status === 401) this.#become("signed out");
      this.#whole = true; // events may have been missed: reload everything
      await pause(HIDDEN_MS);
    }
    await rested;
  }

  #take(state) {
    setServerTime(state.now);
    const { human, version, boot, button, births, notice, needs, settingsProblem, settingsWaiting } = state;
    Object.assign(this, { human, version, boot, button, births, notice, needs, nodes: state.nodes });
    Object.assign(this, { settingsProblem, settingsWaiting });
    this.#askAgainAt(needs.changesAt);
    this.reader = state.role === "viewer";
    this.member = state.role === "member";
    this.user = state.user;
    this.scope = state.scope;
    document.documentElement.toggleAttribute("data-scoped", Boolean(this.scope));
    document.documentElement.toggleAttribute("data-member", this.member);
    document.documentElement.toggleAttribute("data-reader", this.reader); // base.css hides what acts
    this.ready = true;
    if (state.whole) this.#replaceAll();
    for (const each of state.agents) this.agents.set(each.seat, this.#offered(each));
    for (const each of state.channels) this.channels.set(each.channel, each);
    this.touch("team", "agents", "channels");
    this.touch(...state.agents.map((each) => `agent:${each.seat}`));
    this.touch(...state.channels.map((each) => `channel:${each.channel}`));
    this.#reach(state.seq);
  }

  /** What needs a person changes with time, too: reload when it does. */
  #askAgainAt(moment) {
    clearTimeout(this.#again);
    if (!moment) return;
    const ask = () => {
      this.#seats.add(0);
      this.#askFor({});
    };
    this.#again = setTimeout(ask, Math.min(secondsUntil(moment) * 1000 + LATE_MS, LONGEST_TIMER_MS));
  }

  #reach(seq) {
    this.seq = Math.max(this.seq, seq);
    for (const check of this.#reached) check();
  }

  #replaceAll() {
    this.agents = new Map();
    this.channels = new Map();
  }

  // ── acting ───────────────────────────────────────────────────────────────────────────────────

  /** Send a request, and show it as pending until its event has come back. Returns the server's response, or null if
   *  it was refused or not confirmed in time. */
  async act(key, label, call) {
    if (this.pending.has(key)) return null;
    this.pending.set(key, { label, since: Date.now() });
    this.failed.delete(key);
    this.touch("pending");
    try {
      const answer = await call();
      await this.#until(answer.seq ?? 0);
      return answer;
    } catch (problem) {
      this.failed.set(key, problem.message);
      return null;
    } finally {
      this.pending.delete(key);
      this.touch("pending");
    }
  }

  /** Wait until the page shows the state at this seq or later, with a timeout. */
  #until(seq) {
    return new Promise((resolve, reject) => {
      const late = () =>
        end(() => reject(new Error("muster accepted the request, but has not confirmed it yet.")));
      const timer = setTimeout(late, CONFIRM_MS);
      const check = () => this.seq >= seq && end(resolve);
      const end = (then) => {
        clearTimeout(timer);
        this.#reached.delete(check);
        then();
      };
      this.#reached.add(check);
      check();
    });
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const listed = (agents) => (Array.isArray(agents) ? agents : []);

const HOLLOW = /^(\x60{3}.*|[|:\s-]+|\|.*\|)$/; // fences and rows of tables say little without the others

/** The last line that says something, as a terminal and a reader of Markdown would see it. */
function lastLine(text) {
  const lines = text
    .slice(-2000)
    .split("\n")
    .map((each) => plain(each).trim())
    .filter(Boolean);
  const telling = lines.findLast((each) => !HOLLOW.test(each)) ?? lines.at(-1) ?? "";
  const row = HOLLOW.test(telling) ? telling.split("|").map((cell) => cell.trim()) : [telling];
  const line = row
    .filter(Boolean)
    .join(" · ")
    .replace(/\x60|\*\*/g, "");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

export const store = new Store();
