// The model and the mode of an agent's program, to switch while it runs.

import { get, idOf, patch, path } from "../api.js";
import { h, setText } from "../dom.js";
import { Part } from "../part.js";

const TYPES = new Set(["agent_message", "session_start", "session_end"]); // `/mode` is answered by a message

class ProgramChoice extends Part {
  start() {
    this.told = h("span", { role: "status" });
    const concerns = ({ type, seat }) =>
      type === "settings_applied" || (TYPES.has(type) && seat === this.seat);
    this.listen((events) => events.some(concerns) && this.#ask());
    this.addEventListener("focusout", () => this.late && this.#paint(this.late));
    this.#ask();
  }

  #ask(body) {
    const place = path`/api/settings/agents/${idOf(this)}/program`;
    (body ? patch(place, body) : get(place)).then(
      (found) => this.#paint(found, body),
      ({ message }) => setText(this.told, message),
    );
  }

  /** Paint what is in force. A field that is being edited stays until it is left, or until its text was sent. */
  #paint(found, sent = {}) {
    const { model, mode, runningModel, runningMode, modes, effect } = found;
    const field = this.contains(document.activeElement) ? document.activeElement : null;
    this.late = field && sent[field.name] !== field.value ? found : null;
    if (this.late) return;
    const fields = [
      this.#field("Model", "model", model, runningModel, []),
      this.#field("Mode", "mode", mode, runningMode, modes),
    ];
    this.replaceChildren(...fields.filter(Boolean), this.told);
    if (effect) setText(this.told, effect); // it stays when the event of the change has come, too
  }

  #choose({ name, value }) {
    this.late = null; // older than the answer to this choice
    this.#ask({ [name]: value });
  }

  // The field shows what is in force: choosing the value of muster.toml is a change, too.
  #field(label, key, kept, running, choices) {
    if (kept === null) return null;
    const value = running ?? kept;
    const options = choices.map((text) => h("option", { text, selected: text === value }));
    const input = h(
      options.length ? "select" : "input",
      { value, name: key, placeholder: "default", on: { change: () => this.#choose(input) } },
      ...options,
    );
    const next = value === kept ? null : h("small", { text: ` (next session: ${kept || "default"})` });
    return h("label", {}, `${label} `, input, next);
  }
}

customElements.define("program-choice", ProgramChoice);
