// Costs and tokens. Agents and channels carry their own; the total and the costs of conversations are loaded
// again after each event that records usage. To show them, watch the topic `costs`.

import { patiently } from "./past.js";
import { store } from "./store.js";

const RELOAD_MS = 500;
const AGAIN_MS = 30_000;
const ABOUT = new Set(["session_result", "usage_reported", "usage_recorded", "muster_started"]);

class Costs {
  #timer = null;
  #asking = false;
  team = null; // null until loaded
  rate = 0; // dollars a minute, of all agents
  today = 0;
  days = []; // by day, agent and model, the newest first
  #rates = new Map();
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

  /** The burn rate of an agent, by its seat, or of a channel, by its name. */
  rateOf(what) {
    return this.#rates.get(what) ?? 0;
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
    this.rate = found.usdPerMinute;
    this.today = found.todayUsd;
    this.days = found.days;
    this.#rates = new Map([
      ...found.agents.map(({ seat, usdPerMinute }) => [seat, usdPerMinute]),
      ...found.channels.map(({ channel, usdPerMinute }) => [channel, usdPerMinute]),
    ]);
    if (this.rate) setTimeout(() => this.#soon(), AGAIN_MS); // a rate falls while nothing happens
    this.#conversations = new Map(found.conversations.map((each) => [each.conversation, each]));
    store.touch("costs");
  }
}

export const costs = new Costs();

/** An amount in dollars; small amounts get four decimals. */
export const dollars = (cost) => `$${cost.toFixed(cost >= 1 || !cost ? 2 : 4)}`;

/** A burn rate: `$0.77/min`; empty where nothing is spent. */
export const perMinute = (rate) => (rate >= 0.005 ? `$${rate.toFixed(2)}/min` : "");

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
