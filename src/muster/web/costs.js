// Costs and tokens. Agents and channels carry their own; the total and the costs of conversations are loaded
// again after each event that records usage. To show them, watch the topic `costs`.

import { patiently } from "./past.js";
import { store } from "./store.js";

const RELOAD_MS = 500;
const ABOUT = new Set(["session_result", "usage_recorded", "muster_started"]);

class Costs {
  #timer = null;
  #asking = false;
  team = null; // null until loaded
  #conversations = new Map();

  /** Load now, and again after each usage event. */
  follow() {
    store.listen((events) => events.some(({ type }) => ABOUT.has(type)) && this.#soon());
    this.#load();
  }

  /** The usage of a conversation, or null. */
  conversation(name) {
    return this.#conversations.get(name) ?? null;
  }

  #soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#load();
    }, RELOAD_MS);
  }

  async #load() {
    if (this.#asking) return this.#soon();
    this.#asking = true;
    const found = await patiently("/api/costs", () => {});
    this.#asking = false;
    if (!found) return;
    this.team = found.team;
    this.#conversations = new Map(found.conversations.map((each) => [each.conversation, each]));
    store.touch("costs");
  }
}

export const costs = new Costs();

/** An amount in dollars; small amounts get four decimals. */
export const dollars = (cost) => `$${cost.toFixed(cost >= 1 ? 2 : 4)}`;

/** Usage in short: the cost, or the tokens if there is no cost; empty without usage. */
export function spent(used) {
  if (!used || (!used.costUsd && !used.tokens)) return "";
  return used.costUsd ? dollars(used.costUsd) : count(used.tokens);
}

/** Usage in full: `$0.2500, 1,000 tokens`. */
export function spentInFull(used) {
  if (!spent(used)) return "";
  return used.costUsd ? `${dollars(used.costUsd)}, ${count(used.tokens)}` : count(used.tokens);
}

const count = (tokens) => `${tokens.toLocaleString("en")} tokens`;
