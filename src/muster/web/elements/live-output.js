// Live output of an agent's sessions. The page keeps only the newest lines; the output files are complete.

import { get, path } from "../api.js";
import { h, setHidden } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const LINES = 400;
const LINE_CHARS = 2000;
const PAINT_MS = 150;

class LiveOutput extends Part {
  start() {
    this.waiting = [];
    this.early = []; // what arrives while the output so far is loaded
    this.last = 0;
    this.lines = h("div", { class: "lines", role: "region", "aria-label": "Output", tabindex: "0" });
    this.none = h("p", { class: "muted", text: "No output yet." });
    this.replaceChildren(this.none, this.lines);
    this.listen((events) => {
      const ours = events.filter((event) => event.type === "agent_output" && event.seat === this.seat);
      if (!this.loaded) this.early.push(...ours);
      else if (ours.length) this.#add(ours);
    });
    this.#load();
  }

  async #load() {
    const { output } = await get(path`/api/agents/${store.agents.get(this.seat).id}/output`).catch(() => ({
      output: [],
    }));
    this.loaded = true;
    this.#add([...output, ...this.early.splice(0)]);
  }

  #add(pieces) {
    for (const piece of pieces) {
      if (piece.seq <= this.last) continue;
      this.last = piece.seq;
      if (piece.omitted)
        this.waiting.push({ stream: "note", text: `… ${piece.omitted} bytes omitted, see the output file` });
      for (const text of piece.text.replace(/\n$/, "").split("\n").slice(-LINES))
        this.waiting.push({ stream: piece.stream, text });
    }
    if (this.waiting.length > LINES) this.waiting.splice(0, this.waiting.length - LINES);
    this.timer ??= setTimeout(() => this.#paint(), PAINT_MS);
  }

  #paint() {
    this.timer = null;
    const { lines } = this;
    const atBottom = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 30;
    lines.append(
      ...this.waiting.splice(0).map(({ stream, text }) =>
        h("div", {
          class: stream === "stdout" ? null : stream,
          text:
            text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)} … (${text.length} characters)` : text,
        }),
      ),
    );
    while (lines.childElementCount > LINES) lines.firstElementChild.remove();
    setHidden(this.none, lines.childElementCount > 0);
    if (atBottom) lines.scrollTop = lines.scrollHeight;
  }
}

customElements.define("live-output", LiveOutput);
