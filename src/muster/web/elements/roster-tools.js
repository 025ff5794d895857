// How the agents are shown: a filter, the order within a group, and cards or a list. The browser remembers the last two.

import { h, pushButton, setAttribute, setHidden } from "../dom.js";
import { Part } from "../part.js";
import { MANY, SORTS } from "../roster.js";
import { store } from "../store.js";

const FEW = 4; // the tools appear from here on
const SHAPES = [
  { shape: "cards", label: "Cards" },
  { shape: "list", label: "List" },
];

class RosterTools extends Part {
  // set by the team view: changed()

  filter = "";

  start() {
    this.words ??= h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter agents by name, state or group",
      on: {
        input: () => this.#narrow(),
        keydown: (event) => event.key === "Escape" && this.words.blur(),
      },
    });
    this.order ??= h(
      "select",
      { "aria-label": "Sort agents by", on: { change: () => this.#keep("sort", this.order.value) } },
      Object.entries(SORTS).map(([value, { label }]) => h("option", { value, text: label })),
    );
    this.order.value = this.sort;
    this.shapes ??= SHAPES.map(({ shape, label }) => pushButton(label, () => this.#keep("shape", shape)));
    this.replaceChildren(
      this.words,
      this.order,
      h("div", { class: "shapes", role: "group", "aria-label": "Show agents as" }, this.shapes),
    );
    this.watch("agents", () => this.paint());
    this.key("f", "Filter the agents", () => {
      if (this.hidden) return false;
      this.words.focus();
    });
  }

  get sort() {
    const kept = localStorage.getItem("roster-sort");
    return Object.hasOwn(SORTS, kept ?? "") ? kept : "seat";
  }

  /** Cards or a list: as the person chose, else by the size of the team. */
  get shape() {
    const kept = localStorage.getItem("roster-shape");
    if (SHAPES.some(({ shape }) => shape === kept)) return kept;
    return store.shown.length >= MANY ? "list" : "cards";
  }

  paint() {
    setHidden(this, store.shown.length < FEW);
    SHAPES.forEach(({ shape }, at) => {
      setAttribute(this.shapes[at], "aria-pressed", String(shape === this.shape));
    });
  }

  #narrow() {
    this.filter = this.words.value.trim();
    this.changed();
  }

  #keep(what, value) {
    localStorage.setItem(`roster-${what}`, value);
    this.paint();
    this.changed();
  }
}

customElements.define("roster-tools", RosterTools);
