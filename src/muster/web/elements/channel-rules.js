// The rules of a channel, all of them, by subject. A turn in progress keeps the timeout it started with.

import { patch, path } from "../api.js";
import { confirmed, MODES } from "../channels.js";
import { errorLine, h, keyed, setAttribute, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const seconds = { type: "number", min: "0.1", step: "any" };
const limit = { type: "number", min: "0", step: "any" }; // 0 = no limit
const count = { type: "number", min: "1", step: "1" };
const yes = { type: "checkbox" };

const ORDERS = {
  ring: "One after the other",
  mention: "Mentioned members first",
  selector: "A selector chooses",
};
const JOINS = { open: "Every agent", invited: "Only invited agents" };
const READS = { everybody: "Everybody", members: "Members, operators" };
const modes = Object.fromEntries(Object.entries(MODES).map(([mode, { label }]) => [mode, label]));

/** Fieldsets: a title, a hint, and the rules with their label and input. An object is a list of choices. */
const GROUPS = [
  {
    title: "Who speaks next",
    hint: "You go first in every order: mention a member with @, or press Make next. Then come handoffs and raised hands.",
    rules: {
      speakerOrder: ["Order", { choices: ORDERS }],
      selector: ["Selector", { members: true }],
    },
  },
  {
    title: "Turns",
    rules: {
      defaultTimeoutSeconds: ["Turn timeout (s)", seconds],
      maxTurnSeconds: ["Longest turn (s)", seconds],
      waitTimeoutSeconds: ["Wait timeout (s)", seconds],
      autoDetectTurnEnd: ["End the turn on silence after a post", yes],
      autoDetectSilenceSeconds: ["Silence that ends a turn (s)", seconds],
    },
  },
  {
    title: "Your message during a turn",
    hint: "For every message that does not choose another effect.",
    rules: {
      humanInterruptMode: ["Effect", { choices: modes }],
      interruptHoldSeconds: ["Go on after an interruption (s)", seconds],
    },
  },
  {
    title: "End of the conversation, per message of a person",
    hint: "At a limit the channel rests, and the next message starts it again. 0 or empty = no limit.",
    rules: {
      turnsPerMessage: ["Turns", limit],
      roundsPerMessage: ["Rounds", limit],
      costUsdPerMessage: ["Cost ($)", limit],
      tokensPerMessage: ["Tokens", limit],
      alikeInARow: ["Messages that say the same", limit],
      costUsdPerMinute: ["Cost a minute ($)", limit],
      restAfterIdleRounds: ["Silent rounds", count],
      stopPhrase: ["Stop phrase", { type: "text", maxlength: "200" }],
    },
  },
  {
    title: "End of the conversation, in all",
    hint: "At a limit the channel rests until you raise it. 0 = no limit.",
    rules: {
      maxTurns: ["Turns in all", limit],
      maxRounds: ["Rounds in all", limit],
      maxCostUsd: ["Cost in all ($)", limit],
      costUsdPerDay: ["Cost a day ($)", limit],
      maxTokens: ["Tokens in all", limit],
    },
  },
  {
    title: "Notices",
    rules: {
      announceTimeouts: ["Announce timeouts", yes],
      announceDisconnects: ["Announce disconnects", yes],
    },
  },
  {
    title: "Access",
    rules: {
      joinRule: ["May join", { choices: JOINS }],
      readRule: ["May read", { choices: READS }],
    },
  },
];

class ChannelRules extends Part {
  #before = Promise.resolve(); // the change that is being sent

  start() {
    this.classList.add("panel");
    this.inputs = new Map();
    this.error = errorLine();
    this.replaceChildren(
      h(
        "details",
        {},
        h("summary", { text: "Rules" }),
        GROUPS.map((group) => this.#group(group)),
        this.error,
      ),
    );
    this.watch([`channel:${this.channel}`, "pending"], () => this.#paint());
  }

  #group({ title, hint, rules }) {
    const fields = Object.entries(rules).map(([rule, [label, kind]]) => {
      const input = this.#input(rule, kind);
      this.inputs.set(rule, input);
      return h("label", {}, h("span", { text: label }), input);
    });
    return h(
      "fieldset",
      { class: "rules" },
      h("legend", { text: title }),
      hint ? h("p", { class: "muted", text: hint }) : null,
      fields,
    );
  }

  #input(rule, kind) {
    const on = { change: ({ target }) => this.#change(rule, target) };
    const disabled = !store.operates;
    if (kind.members) return h("select", { name: rule, disabled, on });
    if (!kind.choices) return h("input", { ...kind, name: rule, disabled, on });
    const options = Object.entries(kind.choices).map(([value, text]) => h("option", { value, text }));
    return h("select", { name: rule, disabled, on }, options);
  }

  /** One pending key for each rule, so that several can change at once. */
  #acting(rule) {
    return `rules:${this.channel}:${rule}`;
  }

  /** Show the server's values, except in the field that has the focus. */
  #paint() {
    const channel = store.channel(this.channel);
    if (!channel) return;
    this.#paintSelectors(channel);
    for (const [rule, input] of this.inputs) {
      setAttribute(input, "aria-busy", store.pending.has(this.#acting(rule)) ? "true" : null);
      if (document.activeElement !== input || input.type === "checkbox") put(input, channel.config[rule]);
    }
    const failed = [...this.inputs.keys()].map((rule) => store.failed.get(this.#acting(rule)));
    show(this.error, failed.find(Boolean));
  }

  /** The members, and the named selector where it is none yet. */
  #paintSelectors({ config, ring }) {
    const names = [...new Set([...ring, config.selector].filter(Boolean))];
    keyed(
      this.inputs.get("selector"),
      ["", ...names],
      (name) => name,
      (value) => h("option", { value, text: value || "nobody" }),
    );
  }

  /** Changes are sent one after the other: the server replaces the whole set of rules with each. */
  async #change(rule, input) {
    for (const each of this.inputs.keys()) store.failed.delete(this.#acting(each));
    const change = this.#asked(rule, input);
    this.#before = this.#before.then(() =>
      store.act(this.#acting(rule), "Changing the rules", () =>
        confirmed(patch(path`/api/channels/${this.channel}`, change)),
      ),
    );
    const changed = await this.#before;
    const config = store.channel(this.channel)?.config;
    if (config && !changed) put(input, config[rule]); // reset a refused value
    this.#paint();
  }

  /** The rules to change: a selector belongs to its order, and without one the first member is it. */
  #asked(rule, input) {
    const value = read(input);
    if (rule === "speakerOrder" && value === "selector") {
      const channel = store.channel(this.channel);
      return { speakerOrder: value, selector: channel.config.selector || channel.ring[0] || "" };
    }
    if (rule === "selector" && value) return { speakerOrder: "selector", selector: value };
    return { [rule]: value };
  }
}

function read(input) {
  if (input.type === "checkbox") return input.checked;
  return input.type === "number" ? Number(input.value) : input.value;
}

function put(input, value) {
  if (input.type === "checkbox") input.checked = value;
  else if (input.value !== String(value)) input.value = value;
}

customElements.define("channel-rules", ChannelRules);
