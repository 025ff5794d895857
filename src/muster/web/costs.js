// What was used up. Agents and channels say it themselves; the sum, and what conversations used up, are asked for
// again when something was used up. Whoever shows them watches the topic `costs`.

import { patiently } from "./past.js";
import { store } from "./store.js";

const RELOAD_MS = 500;
const ABOUT = new Set(["session_result", "usage_recorded", "muster_started"]);

class Costs {
  #timer = null;
  #asking = false;
  team = null; // null until the server has told
  #conversations = new Map();

  /** Ask now, and whenever something is used up. */
  follow() {
    store.listen((events) => events.some(({ type }) => ABOUT.has(type)) && this.#soon());
    this.#load();
  }

  /** What a conversation has used up, or null. */
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

/** An amount in dollars; where it is little, with more decimals. */
export const dollars = (cost) => `$${cost.toFixed(cost >= 1 ? 2 : 4)}`;

/** What was used up in one word: the money, or the tokens where they cost nothing. Nothing is nothing. */
export function spent(used) {
  if (!used || (!used.costUsd && !used.tokens)) return "";
  return used.costUsd ? dollars(used.costUsd) : count(used.tokens);
}

/** The same with everything that is known: `$0.2500, 1,000 tokens`. */
export function spentInFull(used) {
  if (!spent(used)) return "";
  return used.costUsd ? `${dollars(used.costUsd)}, ${count(used.tokens)}` : count(used.tokens);
}

const count = (tokens) => `${tokens.toLocaleString("en")} tokens`;
