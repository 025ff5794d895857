// The work of an agent, live: each tool call with its input, its result, how long it took, and a change of a file as
// a difference. Programs that report no tool calls have their output beside it.

import { get, idOf, path } from "../api.js";
import { isText, oneLine, parsed } from "../calls.js";
import { secondsSince, span, timeOfDay } from "../clock.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { cut, everyLine, visible } from "../visible.js";

const KEPT = 200;
const LINES = 60;
const SUMMARY_CHARS = 160;
const BEGINS = new Set(["tool_call", "helper_started"]);
const ENDS = { tool_done: "done", helper_done: "done", tool_failed: "failed" };
const SINGLE = {
  silent: "is silent",
  asked_again: "asks its model again",
  compacted: "has compacted its context",
};

class AgentWork extends Part {
  start() {
    this.steps = new Map(); // by ref, or by seq where there is none
    this.early = [];
    this.last = 0;
    this.list = h("ol", { class: "calls", "aria-label": "Tool calls, the newest first" });
    this.none = h("p", {
      class: "muted",
      text: "No tool calls yet. What the program prints is under Output.",
    });
    this.replaceChildren(this.none, this.list);
    this.listen((events) => {
      const ours = events.filter(({ type, seat }) => type === "agent_activity" && seat === this.seat);
      if (!this.loaded) this.early.push(...ours);
      else if (ours.length) this.#take(ours);
    });
    this.tick(() => this.#paintTimes());
    this.#load();
  }

  async #load() {
    const asked = `/api/log?types=agent_activity&limit=${KEPT}&${path`agent=${idOf(this)}`}`;
    const { events } = await get(asked).catch(() => ({ events: [] }));
    this.loaded = true;
    this.#take([...events, ...this.early.splice(0)]);
  }

  #take(events) {
    for (const event of events) {
      if (event.seq <= this.last || !this.#isWithin(event)) continue;
      this.last = event.seq;
      this.#note(event);
    }
    while (this.steps.size > KEPT) this.steps.delete(this.steps.keys().next().value);
    this.#paint();
  }

  /** Whether an event is of the time that is shown: that of a task, or all. */
  #isWithin({ ts }) {
    return !(this.from && ts < this.from) && !(this.upto && ts > this.upto);
  }

  #note(event) {
    const { kind, ref, seq, ts, name, text, by } = event;
    const known = ref ? this.steps.get(ref) : null;
    if (ENDS[kind] && known) {
      this.steps.set(ref, { ...known, state: ENDS[kind], result: text, until: ts });
      return;
    }
    const state = BEGINS.has(kind) ? "running" : (ENDS[kind] ?? "note");
    const title = SINGLE[kind] ? `${name} ${SINGLE[kind]}` : name;
    const step = { key: ref || String(seq), seq, title, by, state, since: ts, until: null };
    this.steps.set(step.key, ENDS[kind] ? { ...step, result: text } : { ...step, input: text ?? "" });
  }

  #paint() {
    const newest = [...this.steps.values()].sort((a, b) => b.seq - a.seq);
    setHidden(this.none, newest.length > 0);
    keyed(this.list, newest, ({ key }) => key, row, update);
    this.#paintTimes();
  }

  /** A call of a session that has ended came to no end. */
  #paintTimes() {
    const running = store.agents.get(this.seat)?.session;
    for (const { step, time } of this.list.children) {
      const lost = step.state === "running" && !running;
      if (step.state === "note") setText(time, timeOfDay(step.since, true));
      else if (lost) setText(time, "not finished");
      else if (step.state === "running") setText(time, `for ${span(secondsSince(step.since))}`);
      else setText(time, step.until ? took(step) : step.state);
    }
  }
}

function took({ since, until, state }) {
  const seconds = (Date.parse(until) - Date.parse(since)) / 1000;
  const text = seconds < 10 ? `${seconds.toFixed(1)} s` : span(seconds);
  return state === "failed" ? `failed after ${text}` : text;
}

function row(step) {
  const item = h("li");
  item.time = h("span", { class: "age" });
  item.result = h("pre", { class: "result", hidden: true });
  const given = parsed(step.input);
  const summary = visible(cut(oneLine(given, step.input ?? ""), SUMMARY_CHARS));
  const change = difference(given);
  item.append(
    h(
      "details",
      { open: Boolean(change) },
      h(
        "summary",
        {},
        h("strong", { text: visible(step.title, 60) }),
        step.by ? h("span", { class: "muted", text: ` (${visible(step.by, 60)})` }) : "",
        h("code", { text: summary }),
        item.time,
      ),
      change ?? (step.input ? h("pre", { text: everyLine(step.input) }) : ""),
      item.result,
    ),
  );
  return item;
}

function update(item, step) {
  item.step = step;
  setAttribute(item, "data-state", step.state);
  setHidden(item.result, !step.result);
  setText(item.result, everyLine(step.result ?? ""));
}

/** A change of a file: the lines that go and the lines that come, or null where the call changes none. */
function difference(given) {
  if (!given || !isText(given.file_path)) return null;
  const { old_string: before, new_string: after, content } = given;
  if (isText(before) && isText(after)) return lines([...marked("-", before), ...marked("+", after)]);
  return isText(content) ? lines(marked("+", content)) : null;
}

const marked = (sign, text) =>
  text
    ? text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => [sign, line])
    : [];

function lines(all) {
  const shown = all
    .slice(0, LINES)
    .map(([sign, line]) =>
      h("span", { class: sign === "+" ? "added" : "gone", text: `${sign} ${everyLine(line)}\n` }),
    );
  const more = all.length - LINES;
  return h("pre", { class: "change" }, ...shown, more > 0 ? h("span", { text: `… ${more} more lines` }) : "");
}

customElements.define("agent-work", AgentWork);
