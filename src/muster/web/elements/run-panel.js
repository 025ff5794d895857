// Run control: the desired and current state side by side, with since when they differ, and the settings about running.

import { secondsSince, span } from "../clock.js";
import { h, setAttribute, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { factList, paintFacts } from "./run-facts.js";

class RunPanel extends Part {
  start() {
    this.desired = state("Desired");
    this.current = state("Current");
    this.between = h("p", { class: "between", role: "status" });
    this.facts = factList();
    this.replaceChildren(
      h("h2", { text: "Run control" }),
      h("div", { class: "pair" }, this.desired, this.current),
      this.between,
      this.facts,
    );
    this.watch(`agent:${this.seat}`, () => this.#paint());
    this.tick(() => this.#paint());
  }

  get agent() {
    return store.agents.get(this.seat);
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
    paintFacts(this.facts, agent);
  }

  #paintBetween(agent) {
    const differs = agent.differsSince;
    setText(
      this.between,
      differs ? `Desired and current have differed for ${span(secondsSince(differs))}.` : match(agent),
    );
    setAttribute(this.between, "data-differs", differs ? "" : null);
  }
}

/** Why desired and current do not differ, also where the two words do. */
function match({ desired, current, schedule, onCall, authority, running, retryAt }) {
  if (running?.phase === "stopping" && desired !== "pause") return "Its next session starts after this one.";
  if (desired === current) return "Current matches desired.";
  if (onCall) return "On call: a session starts with its next task.";
  if (authority !== "muster") return "It reports its current state by itself.";
  if (!schedule) return retryAt ? "It waits for its next try." : "It waits for work.";
  return current === "pause" ? "Between two runs of its schedule." : "In a run of its schedule.";
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
