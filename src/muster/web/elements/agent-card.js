// The card of an agent: face, badge with its line, last words, the age of the evidence, and the controls.

import { needsOf } from "../attention.js";
import { look, meaning, paintBadge } from "../badge.js";
import { evidenceText } from "../clock.js";
import { costs, perMinute, spent, spentInFull } from "../costs.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { makeSpark, paintSpark } from "../last-hour.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { controlsOf, movable, press, runKey } from "../run.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { showAgentSettings } from "./agent-dialog.js";
import { face } from "./agent-face.js";
import { openMenu } from "./menu.js";
import { showMove } from "./node-line.js";
import { factLine } from "./run-facts.js";

const LEAD = 4;

class AgentCard extends Part {
  start() {
    this.parts ??= this.#build();
    this.watch([`agent:${this.seat}`, "pending", "channels", "costs"], () => this.#paint());
    this.tick(() => this.#paintTimes());
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
      cost: h("span", { class: "badge cost", hidden: true }),
      spark: makeSpark(),
      meaning: h("p", { class: "meaning" }),
      facts: h("p", { class: "facts" }),
      doing: h("p", { class: "doing" }),
      age: h("p", { class: "age" }),
      acts: h("div", { class: "acts", data: { acts: "" } }),
      menu: pushButton("⋯", () => this.openMenu(), {
        class: "menu-button",
        data: { acts: "" },
        tabindex: "-1",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
      }),
      pick: h("input", {
        type: "checkbox",
        class: "pick",
        data: { acts: "" },
        tabindex: "-1",
        on: { change: () => this.#pick() },
      }),
      error: errorLine(),
    };
    this.setAttribute("role", "group");
    this.append(
      parts.portrait,
      parts.name,
      h("div", { class: "badges" }, parts.run, parts.spark, parts.cost),
      parts.meaning,
      parts.facts,
      parts.doing,
      h("div", { class: "foot" }, parts.age, parts.acts, parts.menu),
      parts.error,
      parts.pick,
    );
    this.addEventListener("click", (event) => {
      if (!event.target.closest("a, button, input")) location.hash = this.parts.name.hash;
    });
    return parts;
  }

  /** Draw the work of the last hour. */
  showHour(bars) {
    if (this.parts) paintSpark(this.parts.spark, bars);
  }

  /** Press the main control of the card. */
  press() {
    const [control] = controlsOf(this.agent);
    if (control) press(this.agent, control);
    return true;
  }

  /** Open the menu: the further controls, and the settings. */
  openMenu() {
    const { agent } = this;
    const further = agent.badge.more.map((control) => ({
      label: control.label,
      color: control.color,
      run: () => press(agent, control),
    }));
    openMenu(this.parts.menu, `More about ${agent.id}`, [
      ...further,
      ...(movable(agent) ? [{ label: "Move to …", run: () => showMove(agent) }] : []),
      ...(store.operates ? [{ label: "Settings", run: () => showAgentSettings(agent) }] : []),
    ]);
    return true;
  }

  /** Show whether the card is selected. */
  mark(selected) {
    this.parts.pick.checked = selected;
    setAttribute(this, "data-picked", selected ? "" : null);
  }

  #pick() {
    this.dispatchEvent(new CustomEvent("pick", { bubbles: true, detail: this.seat }));
  }

  #paint() {
    const { agent, parts } = this;
    if (!agent) return;
    const label = agent.name ?? "unnamed";
    this.#paintFace(agent);
    this.dataset.status = agent.status;
    this.dataset.look = look(agent);
    this.dataset.run = agent.badge.status;
    setAttribute(this, "data-closed", store.mayActOn(agent) ? null : "");
    const [need] = needsOf(agent);
    setAttribute(this, "data-need", need?.kind ?? null);
    setAttribute(this, "data-unread", agent.spoke > agent.seen ? "" : null);
    setAttribute(
      parts.name,
      "title",
      agent.spoke > agent.seen ? "It said something that you have not seen" : null,
    );
    setText(parts.name, label + (agent.seat === LEAD ? " ★" : ""));
    setAttribute(parts.name, "href", link("agent", agent.id));
    setAttribute(parts.menu, "aria-label", `More about ${agent.name ?? "this agent"}`);
    setAttribute(parts.pick, "aria-label", `Select ${agent.name ?? "this agent"}`);
    setHidden(parts.menu, !agent.name || !(store.operates || agent.badge.more.length));
    paintBadge(parts.run, agent.badge);
    setText(parts.cost, [spent(agent.used), perMinute(costs.rateOf(agent.seat))].filter(Boolean).join(" · "));
    setAttribute(parts.cost, "title", spent(agent.used) && `used: ${spentInFull(agent.used)}`);
    setHidden(parts.cost, !spent(agent.used));
    const doing = visible(store.note(agent.seat).doing?.text ?? "");
    setText(parts.doing, meaning(agent.badge).includes(doing) ? "" : doing);
    setAttribute(parts.doing, "title", parts.doing.textContent);
    setAttribute(this, "data-quiet", !parts.doing.textContent);
    const facts = visible(factLine(agent));
    setText(parts.facts, facts);
    setAttribute(parts.facts, "title", facts);
    setHidden(parts.facts, !facts);
    this.#paintControls(agent);
    this.#paintTimes();
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
    this.parts.dot.dataset.status = look(agent);
    setText(this.parts.dot, look(agent) === "unknown" ? "?" : "");
  }

  #paintControls(agent) {
    const pending = store.pending.get(runKey(agent));
    keyed(
      this.parts.acts,
      controlsOf(agent),
      ({ label }) => label,
      ({ label }) =>
        pushButton("", (event) => this.#click(event, label), {
          class: "act",
          tabindex: "-1",
          "aria-label": `${label} ${agent.name}`,
        }),
      (button, { label, color }) => {
        const short = label.replace(" Agent", "");
        setText(button, pending?.label === label ? `${short} …` : short);
        setAttribute(button, "aria-disabled", pending ? "true" : null);
        button.dataset.color = color;
      },
    );
    show(this.parts.error, store.failed.get(runKey(agent)));
  }

  /** The control may have changed since its button was painted: press what the label says, as it is now. */
  #click(event, label) {
    event.stopPropagation();
    const control = controlsOf(this.agent).find((each) => each.label === label);
    if (control) press(this.agent, control);
  }

  #paintTimes() {
    const { agent, parts } = this;
    if (!agent) return;
    const { badge, evidence } = agent;
    const now = meaning(badge);
    setText(parts.meaning, now);
    setAttribute(parts.meaning, "title", now);
    setText(parts.age, evidence ? evidenceText(evidence) : "no evidence yet");
    // Without the countdown: a name that changes every second is no name.
    setAttribute(
      this,
      "aria-label",
      [agent.name ?? "unnamed", badge.status, badge.line].filter(Boolean).join(", "),
    );
  }
}

customElements.define("agent-card", AgentCard);
