// Output of an agent's sessions, live: with the time of each piece, a line where a session begins, the colours of the
// terminal, and a search. The page keeps only the newest lines; the output files are complete.

import { ansi, plain } from "../ansi.js";
import { get, idOf, path } from "../api.js";
import { moment, timeOfDay } from "../clock.js";
import { h, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";

const LINES = 1000;
const LINE_CHARS = 2000;
const PAINT_MS = 150;

class LiveOutput extends Part {
  start() {
    this.waiting = [];
    this.early = []; // what arrives while the output so far is loaded
    this.last = 0;
    this.session = null;
    this.lines = h("div", {
      class: "lines",
      role: "region",
      "aria-label": "Output",
      tabindex: "0",
      hidden: true,
    });
    this.none = h("p", { class: "muted", text: "No output yet." });
    this.filter = h("input", {
      type: "search",
      "aria-label": "Search in the output",
      placeholder: "Search",
      on: { input: () => this.#narrow() },
    });
    this.count = h("span", { class: "muted", role: "status" });
    this.wrap = h("input", {
      type: "checkbox",
      "aria-label": "Wrap long lines",
      on: { change: () => this.classList.toggle("unwrapped", !this.wrap.checked) },
    });
    this.wrap.checked = true;
    this.tools = h("div", { class: "tools" }, this.filter, this.count, h("label", {}, this.wrap, " wrap"));
    this.replaceChildren(this.tools, this.none, this.lines);
    this.listen((events) => {
      const ours = events.filter((event) => event.type === "agent_output" && event.seat === this.seat);
      if (!this.loaded) this.early.push(...ours);
      else if (ours.length) this.#add(ours);
    });
    this.#load();
  }

  async #load() {
    const { output } = await get(path`/api/agents/${idOf(this)}/output`).catch(() => ({
      output: [],
    }));
    this.loaded = true;
    this.#add([...output, ...this.early.splice(0)]);
  }

  #add(pieces) {
    for (const piece of pieces) {
      if (piece.seq <= this.last) continue;
      this.last = piece.seq;
      const { stream, ts, session } = piece;
      if (session && session !== this.session) this.#begin(session, ts);
      if (piece.omitted)
        this.waiting.push({ stream: "note", text: `… ${piece.omitted} bytes omitted, see the output file` });
      for (const text of piece.text.replace(/\n$/, "").split("\n").slice(-LINES))
        this.waiting.push({ stream, text, ts });
    }
    if (this.waiting.length > LINES) this.waiting.splice(0, this.waiting.length - LINES);
    this.timer ??= setTimeout(() => this.#paint(), PAINT_MS);
  }

  #begin(session, ts) {
    this.session = session;
    const number = session.split("-").at(-1);
    this.waiting.push({ stream: "session", text: `session ${number}, ${moment(ts)}` });
  }

  #paint() {
    this.timer = null;
    const { lines } = this;
    const atBottom = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 30;
    const added = this.waiting.splice(0).map(row);
    lines.append(...added);
    while (lines.childElementCount > LINES) lines.firstElementChild.remove();
    setHidden(this.none, lines.childElementCount > 0);
    setHidden(lines, lines.childElementCount === 0);
    if (this.filter.value) this.#narrow();
    if (atBottom) lines.scrollTop = lines.scrollHeight;
  }

  /** Show the lines that have the words, and say how many. */
  #narrow() {
    const wanted = this.filter.value.trim().toLowerCase();
    let found = 0;
    for (const line of this.lines.children) {
      const fits = !wanted || line.plain.toLowerCase().includes(wanted);
      setHidden(line, !fits);
      found += fits;
    }
    setText(this.count, wanted ? `${found} of ${this.lines.childElementCount} lines` : "");
  }
}

function row({ stream, text, ts }) {
  const shown =
    text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)} … (${text.length} characters)` : text;
  const line = h(
    "div",
    { class: stream === "stdout" ? null : stream, title: ts ? timeOfDay(ts, true) : null },
    stream === "session" ? shown : ansi(shown),
  );
  line.plain = plain(shown);
  return line;
}

customElements.define("live-output", LiveOutput);
