// Run control: the controls, and the desired and current state side by side, with since when they differ.

import { secondsSince, span } from "../clock.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { controlsOf, press, runKey } from "../run.js";
import { store } from "../store.js";

class RunPanel extends Part {
  start() {
    this.desired = state("Desired");
    this.current = state("Current");
    this.between = h("p", { class: "between", role: "status" });
    this.buttons = h("div", { class: "buttons" });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.replaceChildren(
      h("h2", { text: "Run control" }),
      this.buttons,
      this.error,
      h("div", { class: "pair" }, this.desired, this.current),
      this.between,
    );
    this.watch([`agent:${this.seat}`, "pending"], () => this.#paint());
    this.tick(() => this.#paint());
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  press() {
    const [control] = controlsOf(this.agent);
    if (control) press(this.agent, control);
  }

  #paint() {
    const { agent } = this;
    if (!agent) return;
    fill(
      this.desired,
      agent.desired,
      agent.setAt ? `by ${agent.setBy}, ${span(secondsSince(agent.setAt))} ago` : "never set",
      agent.note,
    );
    fill(
      this.current,
      agent.current,
      agent.running
        ? `${agent.running.phase}${agent.running.pid ? `, pid ${agent.running.pid}` : ""}`
        : "no session",
      "",
    );
    this.#paintBetween(agent);
    this.#paintButtons(agent);
    setHidden(this.error, !store.failed.has(runKey(agent)));
    setText(this.error, store.failed.get(runKey(agent)) ?? "");
  }

  #paintBetween(agent) {
    const differs = agent.differsSince;
    setText(
      this.between,
      differs
        ? `Desired and current have differed for ${span(secondsSince(differs))}.`
        : "Current matches desired.",
    );
    setAttribute(this.between, "data-differs", differs ? "" : null);
  }

  #paintButtons(agent) {
    const pending = store.pending.get(runKey(agent));
    keyed(
      this.buttons,
      [...controlsOf(agent), ...agent.badge.more],
      ({ label }) => label,
      ({ label }) => h("button", { type: "button", on: { click: () => this.#click(label) } }),
      (button, { label, color }) => {
        button.dataset.color = color;
        setAttribute(button, "aria-disabled", pending ? "true" : null);
        setText(button, pending?.label === label ? `${label} …` : label);
      },
    );
  }

  #click(label) {
    const { agent } = this;
    const control = [...controlsOf(agent), ...agent.badge.more].find((each) => each.label === label);
    if (control) press(agent, control);
  }
}

function state(title) {
  return h(
    "div",
    { class: "state" },
    h("h3", { text: title }),
    h("strong"),
    h("p", { class: "age" }),
    h("p", { class: "age" }),
  );
}

function fill(box, ...texts) {
  for (const [index, child] of [...box.children].slice(1).entries()) setText(child, texts[index]);
}

customElements.define("run-panel", RunPanel);
