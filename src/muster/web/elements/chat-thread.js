// The chat with an agent: messages with their delivery state, and the message form.

import { get, idOf, meant, newKey, path, say } from "../api.js";
import { look } from "../badge.js";
import { timeOfDay } from "../clock.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { draftKey, keepDraft, settleDraft } from "../drafts.js";
import { showMarkdown } from "../markdown.js";
import { Part } from "../part.js";
import { see } from "../seen.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";
import { FileTray, fileList } from "./file-tray.js";

const TYPES = new Set([
  "user_message",
  "agent_message",
  "messages_delivered",
  "messages_read",
  "message_routed",
  "message_imported",
]);
const RELOAD_MS = 150;
const FOLD_CHARS = 1500;
const FOLD_LINES = 20;

class ChatThread extends Part {
  start() {
    this.messages = [];
    this.older = []; // pages before the newest one, as far as somebody asked for them
    this.more = pushButton("Older messages", () => this.#loadOlder(), { class: "older", hidden: true });
    this.log = h("div", { class: "log", role: "log", "aria-label": "Messages", tabindex: "0" });
    this.fresh = pushButton("", () => this.#toBottom(), { class: "fresh", hidden: true });
    this.hint = h("p", { class: "muted", hidden: true });
    this.note = h("p", { class: "muted", role: "status" });
    this.error = errorLine();
    this.box = h("textarea", {
      rows: "2",
      placeholder: "Write a message. Enter sends, Shift+Enter adds a line.",
    });
    this.meant = meant(this.agent); // the view starts anew if another agent takes the seat
    this.draft = draftKey("message", this.agent);
    keepDraft(this.box, this.draft);
    this.button = h("button", { type: "submit", class: "main", text: "Send" });
    this.files = new FileTray();
    const form = h(
      "form",
      { data: { acts: "" }, on: { submit: (event) => this.#submit(event) } },
      this.files.list,
      this.box,
      this.files.button,
      this.button,
    );
    this.files.follow(form);
    this.replaceChildren(
      h("h2", { text: "Chat" }),
      this.more,
      this.log,
      this.fresh,
      this.hint,
      form,
      this.note,
      this.error,
    );
    this.box.addEventListener("keydown", (event) => this.#typed(event));
    this.listen((events) => events.some((event) => this.#ours(event)) && this.#reload());
    this.watch(["pending", `agent:${this.seat}`], () => this.#paintForm());
    this.watch(`agent:${this.seat}`, () => this.#see());
    const shown = () => this.#see();
    document.addEventListener("visibilitychange", shown);
    this.until(() => document.removeEventListener("visibilitychange", shown));
    this.#load();
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  #see() {
    const { agent } = this;
    if (agent) see(agent, agent.spoke, agent.seen);
  }

  get #key() {
    return `say:${this.seat}`;
  }

  #ours(event) {
    return TYPES.has(event.type) && event.seat === this.seat;
  }

  #reload() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.#load();
    }, RELOAD_MS);
  }

  async #load() {
    try {
      const page = await get(path`/api/agents/${idOf(this)}/messages`);
      if (!this.older.length) setHidden(this.more, !page.earlier);
      const first = page.messages.length ? page.messages[0].seq : Number.POSITIVE_INFINITY;
      const known = new Map([...this.older, ...this.messages].map((each) => [each.seq, each]));
      const kept = [...known.values()].filter(({ seq }) => this.older.length && seq < first);
      this.#paint([...kept, ...page.messages]);
    } catch (problem) {
      if (problem.status === 0) this.#reload();
    }
  }

  /** Put the page before the oldest message on top; what is being read stays where it is. */
  async #loadOlder() {
    const [oldest] = this.messages;
    if (!oldest) return;
    const page = await get(`${path`/api/agents/${idOf(this)}/messages`}?before=${oldest.seq}`);
    const height = this.log.scrollHeight;
    this.older = [...page.messages, ...this.older];
    setHidden(this.more, !page.earlier);
    this.#paint([...page.messages, ...this.messages]);
    this.log.scrollTop += this.log.scrollHeight - height;
  }

  #paint(messages) {
    const atBottom = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    const known = this.messages.length ? this.messages.at(-1).seq : 0;
    const fresh = messages.filter(({ seq }) => seq > known).length;
    const first = this.messages.length === 0;
    this.messages = messages;
    keyed(
      this.log,
      messages,
      ({ seq }) => seq,
      (message) => this.#bubble(message),
      (bubble, message) => setText(bubble.delivery, delivery(message)),
    );
    if (!messages.length)
      this.log.replaceChildren(
        h("p", {
          class: "muted none",
          text: "No messages yet. A message written here goes to this agent only.",
        }),
      );
    else this.log.querySelector(".none")?.remove();
    if (atBottom || first) this.#toBottom();
    else if (fresh) {
      setText(this.fresh, `${fresh} new ↓`);
      setHidden(this.fresh, false);
    }
  }

  #toBottom() {
    this.log.scrollTop = this.log.scrollHeight;
    setHidden(this.fresh, true);
  }

  #bubble(message) {
    const text = h("div", { class: "text" });
    showMarkdown(text, message.text);
    const bubble = h(
      "article",
      { class: `bubble ${message.speakerType === "agent" ? "" : message.speakerType}`.trim() },
      this.#face(message),
      h(
        "div",
        {},
        h(
          "p",
          { class: "by" },
          h("strong", { text: message.speakerName }),
          " ",
          h("time", { datetime: message.createdAt, text: timeOfDay(message.createdAt) }),
          message.channel ? ` in #${message.channel}` : "",
        ),
        text,
        message.files && fileList(message.files),
      ),
    );
    bubble.delivery = h("p", { class: "age delivery" });
    bubble.lastChild.append(bubble.delivery);
    if (message.text.length > FOLD_CHARS || message.text.split("\n").length > FOLD_LINES) fold(text);
    return bubble;
  }

  /** The face of the agent that speaks: this one, or another one that writes to it. */
  #face({ speakerType, speakerName, targetAgent }) {
    if (speakerType !== "agent") return null;
    const peer = [...store.agents.values()].find(({ id }) => id === speakerName);
    const speaker = targetAgent ? peer : this.agent;
    return speaker ? face(speaker) : null;
  }

  #typed(event) {
    if (event.key === "Escape") this.box.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  }

  async #submit(event) {
    event.preventDefault();
    const written = this.box.value.trim();
    await this.files.uploaded();
    const message = this.files.message(written);
    if (!message || store.pending.has(this.#key)) return;
    const body = { ...message, ...this.meant };
    const same = JSON.stringify(body);
    if (this.sent?.same !== same) this.sent = { same, key: newKey() };
    const said = await store.act(this.#key, "Send", () => say("/api/send", body, this.sent.key));
    if (!said) return;
    this.sent = null;
    setText(this.note, message.files ? said.effect : "");
    if (message.files) this.files.clear();
    if (settleDraft(this.box, this.draft, body.message)) this.box.value = "";
    this.#load();
  }

  #paintForm() {
    const pending = store.pending.has(this.#key);
    if (this.agent) setAttribute(this.box, "aria-label", `Message to ${this.agent.id}`);
    setText(this.button, pending ? "Sending …" : "Send");
    this.button.setAttribute("aria-disabled", String(pending));
    show(this.error, store.failed.get(this.#key));
    const away = this.agent && ["sleeping", "unknown"].includes(look(this.agent));
    setHidden(this.hint, !away);
    const word = this.agent?.badge.status.toLowerCase();
    setText(this.hint, away ? `${this.agent.id} is ${word}: messages wait in its inbox.` : "");
  }
}

const DELIVERY = { accepted: "accepted", delivered: "delivered", read: "read" };
const WAY = {
  teammate_inbox: "through its inbox inside Claude Code",
  lead: "through the lead, who was asked to hand it on",
};

function delivery({ delivery: state, way }) {
  return [DELIVERY[state], WAY[way]].filter(Boolean).join(" ");
}

function fold(text) {
  text.classList.add("folded");
  const more = h("button", { type: "button", class: "quiet", text: "Show all" });
  more.addEventListener("click", () =>
    setText(more, text.classList.toggle("folded") ? "Show all" : "Show less"),
  );
  text.after(more);
}

customElements.define("chat-thread", ChatThread);
