// Run control: desired and current state side by side, since when they differ, and the buttons.

import { post } from "../api.js";
import { secondsSince, secondsUntil, span } from "../clock.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { controlsOf, ONE_SHOTS, runKey, want } from "../run.js";
import { store } from "../store.js";

class RunPanel extends Part {
  start() {
    this.badge = h("span", { class: "badge run" });
    this.desired = state("Desired");
    this.current = state("Current");
    this.between = h("p", { class: "between", role: "status" });
    this.session = h("p", { class: "muted" });
    this.buttons = h("div", { class: "buttons" });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.replaceChildren(
      h("div", { class: "line" }, h("h2", { text: "Run control" }), this.badge),
      h("div", { class: "pair" }, this.desired, this.current),
      this.between,
      this.session,
      this.buttons,
      this.error,
    );
    this.watch([`agent:${this.seat}`, "pending"], () => this.#paint());
    this.tick(() => this.#paint());
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  press() {
    const [control] = controlsOf(this.agent);
    if (control) want(this.agent, control);
  }

  #paint() {
    const { agent } = this;
    if (!agent) return;
    setText(this.badge, agent.badge.status);
    this.badge.dataset.color = agent.badge.color;
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
    const next =
      agent.retryAt && secondsUntil(agent.retryAt) > 0
        ? ` The next session starts in ${span(secondsUntil(agent.retryAt))}.`
        : "";
    const failures = agent.failures
      ? `${agent.failures} ${agent.failures === 1 ? "session" : "sessions in a row"} failed.`
      : "";
    setText(this.session, failures + next);
  }

  #paintButtons(agent) {
    const pausing = agent.current === "pause";
    const controls = [
      ...controlsOf(agent),
      ...(pausing && controlsOf(agent).length ? ONE_SHOTS : []),
      ...sleeping(agent),
    ];
    const pending = store.pending.get(runKey(agent));
    keyed(
      this.buttons,
      controls,
      ({ label }) => label,
      (control) =>
        h("button", {
          type: "button",
          data: { color: control.color ?? "" },
          text: control.label,
          on: { click: () => this.#do(control) },
        }),
      (button, control) => {
        setAttribute(button, "aria-disabled", pending ? "true" : null);
        setText(button, pending?.label === control.label ? `${control.label} …` : control.label);
      },
    );
  }

  #do(control) {
    const { agent } = this;
    if (!control.path) return want(agent, control);
    return store.act(runKey(agent), control.label, () => post(control.path, { agents: [agent.id] }));
  }
}

function sleeping(agent) {
  if (agent.status === "alive") return [{ label: "Sleep", path: "/api/agents/sleep" }];
  if (agent.status === "sleeping" || agent.status === "unknown")
    return [{ label: "Wake", path: "/api/agents/wake" }];
  return [];
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
