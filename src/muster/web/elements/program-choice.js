// The model and the mode of an agent's program, to switch while it runs.

import { get, patch, path } from "../api.js";
import { h } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

class ProgramChoice extends Part {
  start() {
    this.listen((events) => events.some(({ type }) => type === "settings_applied") && this.#ask());
    this.#ask();
  }

  #ask(body) {
    const agent = store.agents.get(this.seat);
    if (!agent) return;
    const place = path`/api/settings/agents/${agent.id}/program`;
    (body ? patch(place, body) : get(place)).then(
      (found) => this.#paint(found),
      ({ message }) => this.#tell(message),
    );
  }

  #paint({ model, mode, modes, effect }) {
    const fields = [this.#field("Model", "model", model, []), this.#field("Mode", "mode", mode, modes)];
    this.replaceChildren(...fields.filter(Boolean));
    this.#tell(effect);
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

  #tell(text) {
    this.querySelector("span")?.remove();
    this.append(h("span", { role: "status", text }));
  }
}

customElements.define("program-choice", ProgramChoice);
