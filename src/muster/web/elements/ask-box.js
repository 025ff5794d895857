// The form for a request. While the user types, it shows the agent that the router would choose.

import { post } from "../api.js";
import { errorLine, h, setAttribute, setHidden, setText, show } from "../dom.js";
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
    this.error = errorLine();
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Which agent?", hidden: "" });
    this.form = h(
      "form",
      { on: { submit: (event) => this.#ask(event) } },
      this.text,
      h("div", { class: "row" }, this.send, h("label", {}, "Agent ", this.to), this.guess),
      this.error,
      this.choices,
    );
    this.replaceChildren(h("h2", { text: "Ask" }), this.form);
    this.watch(["talks", "pending"], () => this.#paint());
    this.actKey("m", "Write a request", () => this.text.focus());
    for (const key of ["1", "2", "3"]) this.actKey(key, "Choose between agents", () => this.#press(key));
    this.actKey("Escape", "Choose none of the agents", () => this.#choseNone());
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
    show(this.error, store.failed.get(KEY));
  }

  #typed(event) {
    if (event.key === "Escape") this.text.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #changed() {
    this.#offer([]);
    sessionStorage.setItem(DRAFT, this.text.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#route(), ROUTE_MS);
  }

  async #route() {
    const text = this.text.value.trim();
    if (!text || this.to.value || !talks.session?.open) return setText(this.guess, "");
    const found = await post("/api/route", { text }).catch(() => null);
    if (this.text.value.trim() !== text || this.to.value) return;
    setText(this.guess, found ? guessed(found) : "");
  }

  /** The text is cleared only after the server has accepted it. */
  async #ask(event) {
    event.preventDefault();
    await this.#sendTo(this.to.value || null);
  }

  async #sendTo(to) {
    const text = this.text.value.trim();
    if (!text || store.pending.has(KEY)) return;
    const body = { text, to, wait: false };
    const talk = await act(KEY, "Asking", () => post("/api/conversations", body).catch(choicesOf));
    if (!talk) return;
    if (talk.choices) return this.text.value.trim() === text && this.#offer(talk.choices, true);
    if (this.text.value.trim() === text) {
      this.text.value = "";
      this.#changed();
    }
    go("conversation", talk.conversation);
  }

  /** Ask which of several agents is meant. The focus leaves the text field, so that a digit chooses. */
  #offer(choices, focus = false) {
    setHidden(this.choices, choices.length === 0);
    if (choices.length === 0) return this.choices.replaceChildren();
    const buttons = choices.map(({ agent, reason }, at) =>
      h(
        "button",
        { type: "button", on: { click: () => this.#sendTo(agent) } },
        h("kbd", { text: String(at + 1) }),
        h("strong", { text: visible(agent, 60) }),
        h("span", { class: "muted", text: visible(reason, 160) }),
      ),
    );
    const names = choices.map(({ agent }) => visible(agent, 60)).join(" or ");
    this.choices.replaceChildren(h("p", { text: `${names}?` }), ...buttons);
    if (focus) buttons[0].focus();
  }

  /** A digit chooses while the question is open; otherwise it is the page's shortcut. */
  #press(key) {
    const button = this.choices.querySelectorAll("button")[Number(key) - 1];
    if (!button) return false;
    button.click();
  }

  #choseNone() {
    if (this.choices.hidden) return false;
    this.#offer([]);
    this.text.focus();
  }
}

/** The agents of an ambiguous request; any other error stays one. */
function choicesOf(problem) {
  if (problem.code !== "ambiguous") throw problem;
  return { choices: problem.found.candidates };
}

function guessed({ agent, ambiguous, candidates, confidence, reason }) {
  const first = candidates.slice(0, 2).map((each) => visible(each.agent, 60));
  if (ambiguous) return `${first.join(" or ")}? Enter asks first.`;
  if (agent === "MAIN" && first.length > 0) return `${visible(reason, 160)}. Closest: ${first.join(", ")}.`;
  return `Best match: ${visible(agent, 60)} (confidence ${confidence.toFixed(2)}): ${visible(reason, 160)}`;
}

customElements.define("ask-box", AskBox);
