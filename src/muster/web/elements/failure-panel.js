// The newest failure of an agent, until a session succeeds: how often, why, the last lines of stderr, and the next try.

import { get, idOf } from "../api.js";
import { moment, secondsSince, span } from "../clock.js";
import { h, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { everyLine, visible } from "../visible.js";

const LINES = 12;
const LINE_CHARS = 500;
const REASON_CHARS = 600;
const WORDS_CHARS = 80;
const EVENTS = 60; // pieces of output before the failure that are searched for stderr
const EXIT = /^exit code \d+(?=: |$)/;
const HINT = /; \w+ = \d+ may be too low$/;

class FailurePanel extends Part {
  #asked = null; // seq of the failure whose stderr was loaded

  start() {
    this.heading = h("h2", { id: "failure" });
    this.reason = h("p", { class: "reason" });
    this.next = h("p", { class: "next" });
    this.stderr = h("pre", { tabindex: "0", "aria-label": "Last lines of stderr", hidden: true });
    this.setAttribute("role", "region");
    this.setAttribute("aria-labelledby", "failure");
    this.replaceChildren(this.heading, this.reason, this.next, this.stderr);
    this.watch(`agent:${this.seat}`, () => this.#paint());
    this.tick(() => this.#paint());
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  #paint() {
    const { agent } = this;
    const failure = agent?.lastFailure;
    setHidden(this, !failure);
    this.parentElement?.toggleAttribute("data-failed", Boolean(failure));
    if (!failure) return;
    const { at, count, reason, seq } = failure;
    const times = count === 1 ? "Failed once" : `Failed ${count} times in a row`;
    setText(this.heading, `${times}, ${count === 1 ? "" : "last "}${span(secondsSince(at))} ago`);
    if (this.#asked !== seq) this.#load(seq, reason);
    setText(this.next, next(agent));
  }

  /** The reason alone is shown until the output is there, or where there is none. */
  async #load(seq, reason) {
    this.#asked = seq;
    setText(this.reason, visible(reason, REASON_CHARS));
    setHidden(this.stderr, true);
    const where = new URLSearchParams({
      agent: idOf(this),
      types: "agent_output,session_end",
      before: String(seq + 1),
      limit: String(EVENTS),
    });
    const { events } = await get(`/api/log?${where}`).catch(() => ({ events: [] }));
    if (this.#asked !== seq) return;
    const lines = stderrOf(events);
    if (!lines.length) return;
    // A runtime may know more than the program has written: then its words stay.
    if (reason.includes(lines.at(-1).slice(0, WORDS_CHARS)))
      setText(this.reason, withoutStderr(reason) ?? visible(reason, REASON_CHARS));
    setText(this.stderr, lines.map(short).join("\n"));
    setHidden(this.stderr, false);
  }
}

/** The exit code and the limit that may have caused it, without the words of stderr between the two. */
function withoutStderr(reason) {
  const code = EXIT.exec(reason)?.[0];
  return code && `${code}${HINT.exec(reason)?.[0] ?? ""}`;
}

/** The last lines that the session which ended last has written to stderr. */
function stderrOf(events) {
  const session = events.findLast(({ type }) => type === "session_end")?.session;
  return events
    .filter((each) => each.type === "agent_output" && each.session === session && each.stream === "stderr")
    .map(({ text }) => text)
    .join("")
    .trimEnd()
    .split("\n")
    .slice(-LINES)
    .filter((line, at) => at || line);
}

const short = (line) =>
  everyLine(line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)} … (${line.length} characters)` : line);

function next(agent) {
  if (agent.running) return "It is running again; work that succeeds ends this notice.";
  const start = agent.nextStart;
  if (!start)
    return agent.desired === "pause" ? "It is paused: there is no next try." : "It starts when it can.";
  return `${start.why === "schedule" ? "Next run" : "Next try"}: ${moment(start.at, true)}`;
}

customElements.define("failure-panel", FailurePanel);
