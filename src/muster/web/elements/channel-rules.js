// The rules of a channel: timeouts, announcements, rest, limits. A turn in progress keeps the timeout it started with.

import { patch, path } from "../api.js";
import { confirmed } from "../channels.js";
import { h, setAttribute, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const RULES = {
  announceTimeouts: "Announce timeouts",
  announceDisconnects: "Announce disconnects",
  autoDetectTurnEnd: "End the turn on silence after a post",
  defaultTimeoutSeconds: "Turn timeout (s)",
  waitTimeoutSeconds: "Wait timeout (s)",
  maxTurnSeconds: "Maximum length of a turn (s)",
  interruptHoldSeconds: "Resume after an interruption (s)",
  restAfterIdleRounds: "Rest after silent rounds",
  maxCostUsd: "Cost limit ($, 0 = no limit)",
  maxTokens: "Token limit (0 = no limit)",
};
const LIMITS = new Set(["maxCostUsd", "maxTokens"]);
const SWITCHES = new Set(["announceTimeouts", "announceDisconnects", "autoDetectTurnEnd"]);

class ChannelRules extends Part {
  start() {
    this.classList.add("panel");
    this.inputs = Object.keys(RULES).map((rule) => {
      const kind = SWITCHES.has(rule)
        ? { type: "checkbox" }
        : { type: "number", min: LIMITS.has(rule) ? "0" : "0.1", step: "any" };
      return h("input", { ...kind, name: rule, on: { change: ({ target }) => this.#change(rule, target) } });
    });
    this.error = h("p", { class: "error", role: "alert" });
    this.replaceChildren(
      h(
        "details",
        {},
        h("summary", { text: "Rules" }),
        h(
          "div",
          { class: "rules" },
          this.inputs.map((input) => h("label", {}, h("span", { text: RULES[input.name] }), input)),
        ),
        this.error,
      ),
    );
    this.watch([`channel:${this.channel}`, "pending"], () => this.#paint());
  }

  /** One pending key for each rule, so that several can change at once. */
  #acting(rule) {
    return `rules:${this.channel}:${rule}`;
  }

  /** Show the server's values, except in the field that has the focus. */
  #paint() {
    const config = store.channel(this.channel)?.config;
    if (!config) return;
    for (const input of this.inputs) {
      setAttribute(input, "aria-busy", store.pending.has(this.#acting(input.name)) ? "true" : null);
      if (SWITCHES.has(input.name)) input.checked = config[input.name];
      else if (document.activeElement !== input && input.value !== String(config[input.name]))
        input.value = config[input.name];
    }
    const failed = Object.keys(RULES).map((rule) => store.failed.get(this.#acting(rule)));
    setText(this.error, failed.find(Boolean) ?? "");
  }

  async #change(rule, input) {
    const value = SWITCHES.has(rule) ? input.checked : Number(input.value);
    for (const each of Object.keys(RULES)) store.failed.delete(this.#acting(each));
    await store.act(this.#acting(rule), "Changing the rules", () =>
      confirmed(patch(path`/api/channels/${this.channel}`, { [rule]: value })),
    );
    const config = store.channel(this.channel)?.config;
    if (config && !SWITCHES.has(rule)) input.value = config[rule]; // reset a refused value
    this.#paint();
  }
}

customElements.define("channel-rules", ChannelRules);
