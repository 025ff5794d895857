// The tools above the agents: a filter by group, a selection, and Start, Stop, Restart for what is shown or selected.

import { h, keyed, pushButton, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { ask, fit, namesOf } from "../several.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { openDialog } from "./dialog.js";

const FEW = 2; // tools for several agents appear from here on

const ACTIONS = [
  { action: "start", label: "Start" },
  { action: "stop", label: "Stop" },
  { action: "restart", label: "Restart" },
];

/** What a confirmation says: graceful first, because it interrupts no work. */
const WORDS = {
  stop: {
    title: "Stop",
    what: "They finish the work of their sessions, and no new session starts.",
    gently: "Stop after their work",
    now: "Stop now, and interrupt their work",
  },
  restart: {
    title: "Restart",
    what: "Each session ends after its work, and another one starts.",
    gently: "Restart after their work",
    now: "Restart now, and interrupt their work",
  },
};

const DONE = { start: "asked to start", stop: "asked to stop", restart: "asked to restart" };

class TeamTools extends Part {
  // set by the team view: group (or null), filter(agent), selected (a set of seats), changed()

  start() {
    this.groups = h("div", { class: "chips", role: "group", "aria-label": "Groups" });
    this.select = pushButton("", () => this.#toggleSelecting(), { class: "quiet", data: { acts: "" } });
    this.all = pushButton("Select all", () => this.#selectAll(), { class: "quiet", data: { acts: "" } });
    this.acts = h("div", { class: "several", role: "group", data: { acts: "" } });
    this.told = h("p", { class: "muted", role: "status" });
    this.replaceChildren(this.groups, this.acts, this.select, this.all, this.told);
    this.watch(["agents", "pending"], () => this.paint());
  }

  /** The agents of the chosen group, or all, as far as the filter lets them through. */
  get shown() {
    const { group } = this;
    return store.shown.filter(
      (agent) => (group === null || agent.groups.includes(group)) && this.filter(agent),
    );
  }

  get #meant() {
    return this.selected.size ? this.shown.filter(({ seat }) => this.selected.has(seat)) : this.shown;
  }

  paint() {
    const named = [...new Set(store.shown.flatMap(({ groups }) => groups))].sort((a, b) =>
      a.localeCompare(b),
    );
    if (this.group !== null && !named.includes(this.group)) named.push(this.group);
    const chips = named.length ? [null, ...named] : [];
    keyed(
      this.groups,
      chips,
      (group) => group ?? "",
      (group) => pushButton("", () => this.#choose(group), { class: "chip" }),
      (chip, group) => {
        const count = store.shown.filter(({ groups }) => group === null || groups.includes(group)).length;
        setText(chip, `${group === null ? "All" : visible(group)} ${count}`);
        setAttribute(chip, "aria-pressed", String(group === this.group));
      },
    );
    setHidden(this.groups, !chips.length);
    this.#paintActs();
  }

  #paintActs() {
    const meant = this.#meant;
    const useful = this.shown.length >= FEW && this.shown.some(({ badge }) => badge.controls.length);
    setHidden(this.select, !useful);
    setHidden(this.all, !useful || !this.selecting);
    setText(this.select, this.selecting ? `End selection (${this.selected.size})` : "Select");
    const whom = this.selected.size ? "selected" : "shown";
    setAttribute(this.acts, "aria-label", `Agents that are ${whom}`);
    keyed(
      this.acts,
      useful ? ACTIONS.filter(({ action }) => fit(action, meant).length) : [],
      ({ action }) => action,
      ({ action }) => pushButton("", () => this.#press(action)),
      (button, { action, label }) => {
        const count = fit(action, meant).length;
        const noun = count === 1 ? "agent" : "agents";
        setText(button, `${label} ${count} ${this.selected.size ? "selected" : noun}`);
      },
    );
  }

  #choose(group) {
    this.group = group;
    this.selected.clear();
    this.changed();
  }

  #toggleSelecting() {
    this.selecting = !this.selecting;
    this.selected.clear();
    this.changed();
  }

  #selectAll() {
    for (const { seat } of this.shown) this.selected.add(seat);
    this.changed();
  }

  #press(action) {
    const agents = fit(action, this.#meant);
    if (action === "start") return this.#send(action, agents);
    const { title, what, gently, now } = WORDS[action];
    const dialog = openDialog(
      `${title} ${agents.length} ${agents.length === 1 ? "agent" : "agents"}`,
      h("p", { class: "names", text: namesOf(agents) }),
      h("p", { text: what }),
      h(
        "div",
        { class: "buttons" },
        button(gently, "main", () => this.#send(action, agents, false, dialog)),
        button(now, "", () => this.#send(action, agents, true, dialog)),
      ),
    );
    dialog.querySelector("button.main").focus();
  }

  async #send(action, agents, now = false, dialog = null) {
    dialog?.close();
    setText(this.told, "");
    const { done, refused } = await ask(action, agents, now);
    const failures = refused ? `; ${refused} refused: see the cards` : "";
    setText(this.told, `${done} ${DONE[action]}${now ? " now" : ""}${failures}`);
  }
}

const button = (text, kind, run) =>
  pushButton(text, run, { class: kind, data: { color: kind ? "" : "red" } });

customElements.define("team-tools", TeamTools);
