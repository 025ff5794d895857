// The model and the mode of an agent's program, to switch while it runs.

import { get, patch, path } from "../api.js";
import { h, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

class ProgramChoice extends Part {
  start() {
    this.told = h("span", { role: "status" });
    this.listen((events) => events.some(({ type }) => type === "settings_applied") && this.#ask());
    this.#ask();
  }

  #ask(body) {
    const agent = store.agents.get(this.seat);
    if (!agent) return;
    const place = path`/api/settings/agents/${agent.id}/program`;
    (body ? patch(place, body) : get(place)).then(
      (found) => this.#paint(found),
      ({ message }) => setText(this.told, message),
    );
  }

  #paint({ model, mode, modes, effect }) {
    const fields = [this.#field("Model", "model", model, []), this.#field("Mode", "mode", mode, modes)];
    this.replaceChildren(...fields.filter(Boolean), this.told);
    if (effect) setText(this.told, effect); // it stays when the event of the change has come, too
  }

  #field(label, key, value, choices) {
    if (value === null) return null;
    const options = choices.map((text) => h("option", { text, selected: text === value }));
    const input = h(
      options.length ? "select" : "input",
      { value, placeholder: "default", on: { change: () => this.#ask({ [key]: input.value }) } },
      ...options,
    );
    return h("label", {}, `${label} `, input);
  }
}

customElements.define("program-choice", ProgramChoice);
