// The card of an agent: face, status, run and turn badges, activity, and the age of the evidence.

import { needsOf } from "../attention.js";
import { evidenceText } from "../clock.js";
import { spent, spentInFull } from "../costs.js";
import { h, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { controlsOf, runKey, want } from "../run.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const LEAD = 4;

class AgentCard extends Part {
  start() {
    this.parts ??= this.#build();
    this.watch([`agent:${this.seat}`, "pending", "channels"], () => this.#paint());
    this.tick(() => this.#paintAges());
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  #build() {
    const parts = {
      portrait: h("div", { class: "portrait" }),
      dot: h("span", { class: "dot" }),
      name: h("a", { class: "name", tabindex: "-1" }),
      run: h("span", { class: "badge run" }),
      turn: h("span", { class: "badge turn" }),
      asks: h("span", { class: "badge asks", text: "NEEDS APPROVAL", hidden: true }),
      cost: h("span", { class: "badge cost", hidden: true }),
      doing: h("p", { class: "doing" }),
      age: h("p", { class: "age" }),
      act: h("button", {
        type: "button",
        class: "act",
        tabindex: "-1",
        on: { click: (event) => this.press(event) },
      }),
      error: h("p", { class: "error", role: "alert", hidden: true }),
    };
    this.setAttribute("role", "group");
    this.append(
      parts.portrait,
      parts.name,
      h("div", { class: "badges" }, parts.run, parts.turn, parts.asks, parts.cost),
      parts.doing,
      parts.age,
      parts.act,
      parts.error,
    );
    this.addEventListener("click", (event) => {
      if (!event.target.closest("a, button")) location.hash = this.parts.name.hash;
    });
    return parts;
  }

  /** Press the button of the card. */
  press(event) {
    event?.stopPropagation();
    const [control] = controlsOf(this.agent);
    if (control) want(this.agent, control);
  }

  #paint() {
    const { agent, parts } = this;
    if (!agent) return;
    const label = agent.name ?? "unnamed";
    this.#paintFace(agent);
    this.dataset.status = agent.status;
    this.dataset.run = agent.badge.status;
    const [need] = needsOf(agent);
    setAttribute(this, "data-need", need?.kind ?? null);
    setAttribute(
      this,
      "aria-label",
      [label, agent.status, agent.badge.status, agent.turn, need && "needs you"].filter(Boolean).join(", "),
    );
    setText(parts.name, label + (agent.seat === LEAD ? " ★" : ""));
    setAttribute(parts.name, "href", link("agent", agent.id));
    setText(parts.run, agent.disabled ? "DISABLED" : agent.badge.status);
    parts.run.dataset.color = agent.badge.color;
    setText(parts.turn, agent.turn);
    parts.turn.dataset.turn = agent.turn;
    setHidden(parts.asks, agent.approvals.length === 0);
    setText(parts.cost, spent(agent.used));
    setAttribute(parts.cost, "title", spent(agent.used) && `used: ${spentInFull(agent.used)}`);
    setHidden(parts.cost, !spent(agent.used));
    setText(parts.doing, doing(agent, need));
    setAttribute(parts.doing, "title", parts.doing.textContent);
    this.#paintControl(agent);
    this.#paintAges();
  }

  #paintFace(agent) {
    const looks = JSON.stringify([
      agent.status === "hatching",
      agent.name,
      agent.document?.color,
      agent.document?.faceVariant,
    ]);
    if (this.looks !== looks) {
      this.looks = looks;
      this.parts.portrait.replaceChildren(face(agent), this.parts.dot);
    }
    this.parts.dot.dataset.status = agent.status;
    setText(this.parts.dot, agent.status === "unknown" ? "?" : "");
  }

  #paintControl(agent) {
    const [control] = controlsOf(agent);
    const pending = store.pending.get(runKey(agent));
    const { act, error } = this.parts;
    setHidden(act, !control);
    if (control) {
      setText(act, pending ? `${pending.label.split(" ")[0]} …` : control.label.replace(" Agent", ""));
      setAttribute(act, "aria-label", `${control.label} ${agent.name}`);
      act.dataset.color = control.color;
    }
    setAttribute(act, "aria-disabled", pending ? "true" : null);
    const failure = store.failed.get(runKey(agent));
    setHidden(error, !failure);
    setText(error, failure ?? "");
  }

  #paintAges() {
    const { agent, parts } = this;
    if (!agent) return;
    const { evidence } = agent;
    setText(parts.age, evidence ? evidenceText(evidence) : "no evidence yet");
  }
}

/** The activity of an agent in one line: why it needs a person, else the last line that it printed or said. */
export function doing(agent, need) {
  if (need) return need.why;
  if (agent.status === "hatching") return "hatching, no name yet";
  if (agent.status === "unknown") return "not confirmed since muster started";
  return store.note(agent.seat).doing?.text ?? (agent.status === "sleeping" ? "sleeping" : "");
}

customElements.define("agent-card", AgentCard);
