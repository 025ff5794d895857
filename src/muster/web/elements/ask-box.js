// The form for a request. While the user types, it shows the agent that the router would choose.

import { post } from "../api.js";
import { h, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { act, talks } from "../talks.js";
import { visible } from "../visible.js";

const KEY = "ask";
const DRAFT = "draft:ask";
const ROUTE_MS = 300;

class AskBox extends Part {
  start() {
    this.className = "panel";
    this.text = h("textarea", {
      rows: "2",
      "aria-label": "Request",
      placeholder: "Describe the task. Enter sends, Shift+Enter adds a line.",
      on: { keydown: (event) => this.#typed(event), input: () => this.#changed() },
    });
    this.text.value = sessionStorage.getItem(DRAFT) ?? "";
    this.to = h(
      "select",
      { "aria-label": "Agent to ask", on: { change: () => this.#changed() } },
      h("option", { value: "", text: "best match" }),
    );
    this.send = h("button", { class: "main", text: "Ask" });
    this.guess = h("p", { class: "guess muted", role: "status" });
    this.error = h("p", { class: "error", role: "alert" });
    this.form = h(
      "form",
      { on: { submit: (event) => this.#ask(event) } },
      this.text,
      h("div", { class: "row" }, this.send, h("label", {}, "Agent ", this.to), this.guess),
      this.error,
    );
    this.replaceChildren(h("h2", { text: "Ask" }), this.form);
    this.watch(["talks", "pending"], () => this.#paint());
    this.key("m", "Write a request", () => this.text.focus());
    this.until(() => clearTimeout(this.timer));
    this.#changed();
  }

  #paint() {
    const { session } = talks;
    if (session === null) return;
    setHidden(this, !session.open);
    const names = ["MAIN", ...session.agents];
    const options = names.map((name) => ({ name, text: visible(name, 60) }));
    if (
      this.to.childElementCount - 1 !== names.length ||
      !names.every((name, at) => this.to.children[at + 1].value === name)
    ) {
      const chosen = this.to.value;
      this.to.replaceChildren(
        this.to.firstChild,
        ...options.map(({ name, text }) => h("option", { value: name, text })),
      );
      this.to.value = names.includes(chosen) ? chosen : "";
    }
    const asking = store.pending.has(KEY);
    setText(this.send, asking ? "Asking …" : "Ask");
    setAttribute(this.send, "aria-disabled", asking ? "true" : null);
    setText(this.error, store.failed.get(KEY) ?? "");
  }

  #typed(event) {
    if (event.key === "Escape") this.text.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #changed() {
    sessionStorage.setItem(DRAFT, this.text.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#route(), ROUTE_MS);
  }

  async #route() {
    const text = this.text.value.trim();
    if (!text || this.to.value || !talks.session?.open) return setText(this.guess, "");
    const found = await post("/api/route", { text }).catch(() => null);
    if (this.text.value.trim() !== text || this.to.value) return;
    setText(
      this.guess,
      found
        ? `Best match: ${visible(found.agent, 60)} (confidence ${found.confidence.toFixed(2)}): ${visible(found.reason, 160)}`
        : "",
    );
  }

  /** The text is cleared only after the server has accepted it. */
  async #ask(event) {
    event.preventDefault();
    const text = this.text.value.trim();
    if (!text || store.pending.has(KEY)) return;
    const body = { text, to: this.to.value || null, wait: false };
    const talk = await act(KEY, "Asking", () => post("/api/conversations", body));
    if (!talk) return;
    if (this.text.value.trim() === text) {
      this.text.value = "";
      this.#changed();
    }
    go("conversation", talk.conversation);
  }
}

customElements.define("ask-box", AskBox);
