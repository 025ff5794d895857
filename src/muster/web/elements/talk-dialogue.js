// The dialogue of a conversation in order: messages, thinking, routing, denials and files.

import { get, path } from "../api.js";
import { timeOfDay } from "../clock.js";
import { h, keyed, setHidden, setText } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { Part } from "../part.js";
import { bytes, cut, visible } from "../visible.js";

const RELOAD_MS = 150;
const MARKDOWN_CHARS = 20_000;
const TEXT_CHARS = 20_000;
const TITLES = {
  thinking: "thinks",
  tool: "calls a tool",
  task: "sets a task",
  output: "prints",
  report: "reports",
  answer: "answers",
  note: "notes",
};
const SPOKEN = new Set(["report", "answer"]);

class TalkDialogue extends Part {
  start() {
    this.className = "panel";
    this.log = h("div", { class: "dialogue", role: "log", "aria-label": "Dialogue", tabindex: "0" });
    this.older = h("p", { class: "muted", hidden: true });
    this.replaceChildren(h("h2", { text: "Dialogue" }), this.older, this.log);
    this.listen(
      (events) => events.some((event) => event.conversation === this.conversation) && this.#reload(),
    );
    this.watch("status", () => this.#reload());
    this.until(() => clearTimeout(this.timer));
  }

  /** Load soon. What happens while it is loaded may not be in the answer, so it is loaded once more. */
  #reload() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.#load();
    }, RELOAD_MS);
  }

  async #load() {
    const told = await get(path`/api/conversations/${this.conversation}/dialogue`).catch(() => null);
    if (!told) return;
    const atBottom = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    setHidden(this.older, !told.omitted);
    setText(this.older, `${told.omitted} older entries are only in the log (muster log).`);
    keyed(
      this.log,
      told.events.filter((event) => event.type in ENTRIES),
      ({ seq }) => seq,
      (event) => ENTRIES[event.type](event),
    );
    if (atBottom) this.log.scrollTop = this.log.scrollHeight;
  }
}

const ENTRIES = {
  conversation_start: (event) => said(event, event.speakerName, "says", event.text, true),
  dialogue_recorded: (event) =>
    SPOKEN.has(event.kind)
      ? said(event, event.speaker, TITLES[event.kind], event.text, false)
      : folded(event, event.speaker, TITLES[event.kind] ?? event.kind, event.text),
  routed: (event) => note(event, `Routed to ${visible(event.to, 60)}: ${visible(event.reason, 600)}`),
  state_transition: (event) => note(event, `${visible(event.from, 60)} → ${visible(event.to, 60)}`, "move"),
  file_recorded: (event) =>
    note(event, `${visible(event.state, 60)} ${event.change} ${visible(event.path)} (${bytes(event.size)})`),
  permission_denied: denial,
  conversation_end: (event) =>
    note(event, `Closed: ${event.outcome ?? "answered"}. ${visible(event.summary, 300)}`),
};

const when = (event) => h("time", { class: "age", datetime: event.ts, text: timeOfDay(event.ts) });

function head(event, who, does) {
  return h("p", { class: "by" }, h("strong", { text: visible(who, 60) }), ` ${does} `, when(event));
}

function said(event, who, does, text, human) {
  const body = h("div", { class: "text" });
  if (text.length > MARKDOWN_CHARS) body.textContent = cut(text, TEXT_CHARS);
  else showMarkdown(body, text);
  return h("article", { class: human ? "said human" : "said" }, head(event, who, does), body);
}

/** A collapsed entry; its text is inserted when it is opened. */
function folded(event, who, does, text) {
  const body = h("pre");
  const whole = h(
    "details",
    {},
    h("summary", {}, h("strong", { text: visible(who, 60) }), ` ${does} `, when(event)),
    body,
  );
  whole.addEventListener("toggle", () => whole.open && setText(body, cut(text, TEXT_CHARS)));
  return whole;
}

const note = (event, text, kind = "note") =>
  h("p", { class: `entry ${kind}` }, when(event), h("span", { text }));

function denial(event) {
  return h(
    "article",
    { class: "denied" },
    h(
      "p",
      {},
      when(event),
      " ",
      h("strong", { text: `${visible(event.state, 60)} may not do this` }),
      " (rule ",
      h("code", { text: visible(event.rule, 80) }),
      ")",
    ),
    h("p", { text: visible(event.reason, 1000) }),
    event.suggestion
      ? h("p", {}, "Suggested agent to create: ", h("code", { text: visible(event.suggestion, 80) }))
      : null,
  );
}

customElements.define("talk-dialogue", TalkDialogue);
