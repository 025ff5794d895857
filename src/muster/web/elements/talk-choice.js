// The correction of a route: a person says which agent a request was for, and routing remembers it.

import { post } from "../api.js";
import { errorLine, h, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { act, talks } from "../talks.js";
import { visible } from "../visible.js";

class TalkChoice extends Part {
  start() {
    this.className = "panel";
    this.pendingKey = `choice:${this.conversation}`;
    this.agent = h("select", { "aria-label": "The right agent" });
    this.send = h("button", { text: "Remember" });
    this.said = h("p", { class: "muted", role: "status" });
    this.error = errorLine();
    this.form = h(
      "form",
      { class: "row", on: { submit: (event) => this.#remember(event) } },
      h("label", {}, "Requests like this are for ", this.agent),
      this.send,
    );
    this.replaceChildren(h("h2", { text: "Wrong agent?" }), this.form, this.said, this.error);
    this.watch(["talks", "pending"], () => this.#paint());
  }

  #paint() {
    const talk = talks.get(this.conversation);
    const { session } = talks;
    setHidden(this, !talk?.route || !session?.open);
    if (!talk?.route || !session) return;
    const names = ["MAIN", ...session.agents];
    if (JSON.stringify(names) !== this.shown) {
      this.shown = JSON.stringify(names);
      const chosen = this.agent.value || talk.route.agent;
      this.agent.replaceChildren(
        ...names.map((name) => h("option", { value: name, text: visible(name, 60) })),
      );
      this.agent.value = names.includes(chosen) ? chosen : "MAIN";
    }
    setAttribute(this.send, "aria-disabled", store.pending.has(this.pendingKey) ? "true" : null);
    show(this.error, store.failed.get(this.pendingKey));
  }

  async #remember(event) {
    event.preventDefault();
    const { text, route } = talks.get(this.conversation);
    const agent = this.agent.value;
    if (store.pending.has(this.pendingKey)) return;
    const body = { text, agent, guess: route.agent };
    const done = await act(this.pendingKey, "Remembering", () => post("/api/delegation/choices", body));
    if (done) setText(this.said, `Remembered: the same request goes to ${visible(agent, 60)}.`);
  }
}

customElements.define("talk-choice", TalkChoice);
