// The message form of a channel: text, files, the message that it replies to, and its effect on the turn in progress.

import { newKey, path, say } from "../api.js";
import { effectOf, MODES } from "../channels.js";
import { errorLine, h, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { quoted } from "./channel-entries.js";
import { FileTray } from "./file-tray.js";

class ChannelPost extends Part {
  start() {
    this.text = h("textarea", {
      rows: "2",
      placeholder: "Write a message to the channel. Enter sends, @name lets a member speak next.",
      "aria-label": "Message",
      on: {
        keydown: (event) => this.#typed(event),
        input: () => this.#keep(),
      },
    });
    this.text.value = sessionStorage.getItem(this.draft) ?? "";
    this.send = h("button", { class: "main" });
    this.mode = h(
      "select",
      { "aria-label": "Effect of this message on the turn", on: { change: () => this.#paint() } },
      h("option", { value: "" }),
      Object.entries(MODES).map(([mode, { label }]) => h("option", { value: mode, text: label })),
    );
    this.does = h("span", { class: "muted does" });
    this.effect = h("p", { class: "muted effect", role: "status" });
    this.error = errorLine();
    this.files = new FileTray();
    this.form = h(
      "form",
      {
        class: "panel",
        on: { submit: (event) => this.#say(event) },
      },
      this.#buildReply(),
      this.text,
      this.files.list,
      h(
        "div",
        { class: "row" },
        this.send,
        this.files.button,
        h("label", { class: "mode" }, "This message ", this.mode),
        this.does,
      ),
      this.effect,
      this.error,
    );
    this.files.follow(this.form);
    this.replaceChildren(this.form);
    this.watch([`channel:${this.channel}`, "pending"], () => this.#paint());
    this.actKey("m", "Write a message to the channel", () => this.text.focus());
  }

  #buildReply() {
    this.original = h("span");
    const cancel = pushButton("✕", () => this.replyTo(null), {
      class: "quiet",
      "aria-label": "Do not reply",
    });
    this.reply = h("p", { class: "replying", hidden: true }, this.original, cancel);
    return this.reply;
  }

  get draft() {
    return `draft:channel:${this.channel}`;
  }

  get postKey() {
    return `post:${this.channel}`;
  }

  /** Reply to a message: {seq, speaker, text}; null for none. */
  replyTo(message) {
    this.replied = message;
    setHidden(this.reply, !message);
    setText(this.original, message ? `Reply to ${quoted(message)}` : "");
    this.text.focus();
  }

  #paint() {
    const state = store.channel(this.channel);
    if (!state) return;
    const rule = state.config.humanInterruptMode;
    const mode = this.mode.value || rule;
    const busy = Boolean(state.holder);
    const sending = store.pending.has(this.postKey);
    setText(this.mode.firstElementChild, `as the channel: ${MODES[rule].label}`);
    setText(this.send, sending ? "Sending …" : busy ? MODES[mode].button : "Send");
    this.send.dataset.mode = busy ? mode : "";
    setAttribute(this.send, "aria-disabled", sending ? "true" : null);
    if (this.toldAt !== turnOf(state)) setText(this.effect, ""); // what it told is no longer so
    setText(this.does, said(state, mode));
    show(this.error, store.failed.get(this.postKey));
    setHidden(this.form, state.archived);
  }

  #typed(event) {
    if (event.key === "Escape") this.replied ? this.replyTo(null) : this.text.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    this.#say(event);
  }

  #keep() {
    sessionStorage.setItem(this.draft, this.text.value);
    setText(this.effect, "");
  }

  /** The text is cleared only after the server has accepted it. A retry of the same message has the same key. */
  async #say(event) {
    event.preventDefault();
    const written = this.text.value;
    await this.files.uploaded();
    const body = this.#message(written);
    if (!body || store.pending.has(this.postKey)) return;
    const same = JSON.stringify(body);
    if (this.sent?.same !== same) this.sent = { same, key: newKey() };
    const answer = await store.act(this.postKey, "Sending", () =>
      say(path`/api/channels/${this.channel}/messages`, body, this.sent.key),
    );
    if (!answer) return;
    setText(this.effect, answer.effect ?? "");
    this.toldAt = turnOf(store.channel(this.channel));
    if (JSON.stringify(this.#message(this.text.value)) !== same) return; // edited meanwhile
    this.#clear();
  }

  /** The message as it is sent; null while there is nothing to send, or a file is not there yet. */
  #message(written) {
    const message = this.files.message(written);
    return (
      message && {
        ...message,
        ...(this.mode.value && { mode: this.mode.value }),
        ...(this.replied && { replyTo: this.replied.seq }),
      }
    );
  }

  #clear() {
    this.sent = null;
    this.text.value = "";
    this.mode.value = "";
    sessionStorage.removeItem(this.draft);
    this.files.clear();
    if (this.replied) this.replyTo(null);
    this.#paint();
  }
}

/** The turn of a channel and its state, as one value. */
const turnOf = (state) =>
  state && `${state.epoch} ${state.holder} ${Boolean(state.waiting)} ${state.resting}`;

/** The effect of the message that is being written. */
function said(state, mode) {
  if (state.waiting && !state.waiting.byHuman && !state.waiting.approval && state.waiting.awaits === "person")
    return `${state.holder} is waiting for your message: it is the answer, and the turn goes on.`;
  if (state.holder) return effectOf(mode, state.config);
  if (state.ring.length) return "No agent has the turn: your message gives it to the next one.";
  return state.absent?.length
    ? `Your message is kept until ${state.absent.join(", ")} can read it.`
    : "Nobody is in this channel: your message is kept for whoever joins.";
}

customElements.define("channel-post", ChannelPost);
