// The controls of an agent on its page: the main ones first, then the further ones. The only place for them there.

import { errorLine, h, keyed, pushButton, setAttribute, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { allControlsOf, controlsOf, press, runKey } from "../run.js";
import { store } from "../store.js";

class RunControls extends Part {
  #error; // the newest refusal
  #refusedAt; // what was said of the agent at that time

  start() {
    this.buttons = h("div", { class: "buttons" });
    this.error = errorLine();
    this.replaceChildren(this.buttons, this.error);
    this.watch([`agent:${this.seat}`, "pending"], () => this.#paint());
  }

  get agent() {
    return store.agents.get(this.seat);
  }

  /** Press the main control. */
  press() {
    const [control] = controlsOf(this.agent);
    if (control) press(this.agent, control);
  }

  #paint() {
    const { agent } = this;
    if (!agent) return;
    const pending = store.pending.get(runKey(agent));
    keyed(
      this.buttons,
      allControlsOf(agent),
      ({ label }) => label,
      ({ label }) => pushButton("", () => this.#click(label)),
      (button, { label, color }) => {
        button.dataset.color = color;
        setAttribute(button, "aria-disabled", pending ? "true" : null);
        setText(button, pending?.label === label ? `${label} …` : label);
      },
    );
    this.#paintError(agent);
  }

  /** A refusal is shown until badge or state file say something else: its cause may be gone by then. */
  #paintError(agent) {
    const error = store.failed.get(runKey(agent));
    const now = `${agent.badge.line} ${agent.stateFileProblem}`;
    if (error !== this.#error) [this.#error, this.#refusedAt] = [error, now];
    show(this.error, this.#refusedAt === now ? error : undefined);
  }

  /** The control may have changed since its button was painted: press what the label says, as it is now. */
  #click(label) {
    const control = allControlsOf(this.agent).find((each) => each.label === label);
    if (control) press(this.agent, control);
  }
}

customElements.define("run-controls", RunControls);
