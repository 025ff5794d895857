// The plan of an agent: the to-do list that its program keeps, as a checklist. Each change brings all of its steps.

import { get, idOf, path } from "../api.js";
import { h, keyed, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { visible } from "../visible.js";

class AgentPlan extends Part {
  start() {
    this.plan ??= null;
    this.heading = h("h2");
    this.list = h("ol");
    this.replaceChildren(this.heading, this.list);
    this.listen((events) => {
      for (const event of events)
        if (event.type === "agent_plan" && event.seat === this.seat) this.#take(event);
    });
    this.watch(`agent:${this.seat}`, () => this.#paint());
    this.#load();
  }

  async #load() {
    const asked = `/api/log?types=agent_plan&limit=1&${path`agent=${idOf(this)}`}`;
    const { events } = await get(asked).catch(() => ({ events: [] }));
    for (const event of events) this.#take(event);
  }

  #take(event) {
    if (event.seq < this.plan?.seq) return;
    this.plan = event;
    this.#paint();
  }

  #paint() {
    const steps = this.plan?.steps ?? [];
    setHidden(this, steps.length === 0);
    if (!steps.length) return;
    const done = steps.filter(({ state }) => state === "done").length;
    const isOld = !store.agents.get(this.seat)?.session;
    setText(this.heading, `Plan: ${done} of ${steps.length} done${isOld ? " (when its session ended)" : ""}`);
    keyed(
      this.list,
      steps.map((step, index) => ({ ...step, index })),
      ({ index }) => index,
      row,
      update,
    );
  }
}

function row() {
  const box = h("input", { type: "checkbox", disabled: true });
  const text = h("span");
  return Object.assign(h("li", {}, h("label", {}, box, text)), { box, text });
}

function update(item, { text, state }) {
  item.dataset.state = state;
  item.box.checked = state === "done";
  item.box.indeterminate = state === "active";
  setText(item.text, ` ${visible(text)}`);
}

customElements.define("agent-plan", AgentPlan);
