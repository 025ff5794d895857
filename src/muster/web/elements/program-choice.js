// The model and the mode of an agent's program, to switch while it runs.

import { get, patch, path } from "../api.js";
import { h, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const TYPES = new Set(["agent_message", "session_start", "session_end"]); // `/mode` is answered by a message

class ProgramChoice extends Part {
  start() {
    this.told = h("span", { role: "status" });
    const concerns = ({ type, seat }) => {
      if (type === "settings_applied") return true;
      return TYPES.has(type) && seat === this.seat && !this.contains(document.activeElement); // it is being edited
    };
    this.listen((events) => events.some(concerns) && this.#ask());
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

  #paint({ model, mode, runningModel, runningMode, modes, effect }) {
    const fields = [
      this.#field("Model", "model", model, runningModel, []),
      this.#field("Mode", "mode", mode, runningMode, modes),
    ];
    this.replaceChildren(...fields.filter(Boolean), this.told);
    if (effect) setText(this.told, effect); // it stays when the event of the change has come, too
  }

  // The field shows what is in force: choosing the value of muster.toml is a change, too.
  #field(label, key, kept, running, choices) {
    if (kept === null) return null;
    const value = running ?? kept;
    const options = choices.map((text) => h("option", { text, selected: text === value }));
    const input = h(
      options.length ? "select" : "input",
      { value, placeholder: "default", on: { change: () => this.#ask({ [key]: input.value }) } },
      ...options,
    );
    const next = value === kept ? null : h("small", { text: ` (next session: ${kept || "default"})` });
    return h("label", {}, `${label} `, input, next);
  }
}

customElements.define("program-choice", ProgramChoice);
