// The message form of a channel. It shows the effect on the turn in progress before the message is sent.

import { newKey, patch, path, say } from "../api.js";
import { confirmed, MODES } from "../channels.js";
import { h, setAttribute, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

class ChannelPost extends Part {
  start() {
    this.text = h("textarea", {
      rows: "2",
      placeholder: "Write a message to the channel",
      "aria-label": "Message",
      on: { keydown: (event) => this.#typed(event), input: () => this.#keep() },
    });
    this.text.value = sessionStorage.getItem(this.draft) ?? "";
    this.send = h("button", { class: "main" });
    this.mode = h(
      "select",
      { "aria-label": "Effect on the turn in progress", on: { change: () => this.#setMode() } },
      Object.keys(MODES).map((mode) => h("option", { value: mode, text: mode })),
    );
    this.does = h("span", { class: "muted does" });
    this.error = h("p", { class: "error", role: "alert" });
    this.replaceChildren(
      h(
        "form",
        { class: "panel", on: { submit: (event) => this.#say(event) } },
        this.text,
        h("div", { class: "row" }, this.send, h("label", { class: "mode" }, "Mode ", this.mode), this.does),
        this.error,
      ),
    );
    this.watch([`channel:${this.channel}`, "pending"], () => this.#paint());
    this.key("m", "Write a message to the channel", () => this.text.focus());
  }

  get draft() {
    return `draft:channel:${this.channel}`;
  }

  get postKey() {
    return `post:${this.channel}`;
  }

  get modeKey() {
    return `mode:${this.channel}`;
  }

  #paint() {
    const state = store.channel(this.channel);
    if (!state) return;
    const mode = state.config.humanInterruptMode;
    const busy = Boolean(state.holder);
    const sending = store.pending.has(this.postKey);
    if (document.activeElement !== this.mode || !store.pending.has(this.modeKey)) this.mode.value = mode;
    setText(this.send, sending ? "Sending …" : busy ? MODES[mode].button : "Send");
    this.send.dataset.mode = busy ? mode : "";
    setAttribute(this.send, "aria-disabled", sending ? "true" : null);
    setText(
      this.does,
      busy ? MODES[mode].does : "No agent has the turn: your message gives it to the next one.",
    );
    setText(this.error, store.failed.get(this.postKey) ?? store.failed.get(this.modeKey) ?? "");
  }

  #typed(event) {
    if (event.key === "Escape") this.text.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    this.#say(event);
  }

  #keep() {
    sessionStorage.setItem(this.draft, this.text.value);
  }

  /** The text is cleared only after the server has accepted it. A retry of the same text has the same key. */
  async #say(event) {
    event.preventDefault();
    const message = this.text.value;
    if (!message.trim()) return;
    if (this.sent?.message !== message) this.sent = { message, key: newKey() };
    const said = await store.act(this.postKey, "Sending", () =>
      say(path`/api/channels/${this.channel}/messages`, { message }, this.sent.key),
    );
    if (!said || this.text.value !== message) return;
    this.sent = null;
    this.text.value = "";
    this.#keep();
  }

  #setMode() {
    const change = { humanInterruptMode: this.mode.value };
    store.act(this.modeKey, "Changing the mode", () =>
      confirmed(patch(path`/api/channels/${this.channel}`, change)),
    );
  }
}

customElements.define("channel-post", ChannelPost);
