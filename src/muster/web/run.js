// Run control as the page presses it: the same for a card, a key and an agent's own view.

import { path, put } from "./api.js";
import { store } from "./store.js";

/** What can be pressed for an agent now, by the seed's table: {label, color, desired, now}. */
export function controlsOf(agent) {
  if (agent.status === "hatching" || agent.status === "expired") return [];
  const [main] = agent.badge.controls;
  const stopping = main.desired === "pause" && agent.desired === "pause";
  return [stopping ? { ...main, label: "Stop now", now: true } : main];
}

/** The two one-shots; they are offered while the agent pauses. */
export const ONE_SHOTS = [
  { label: "Run Single Session", desired: "run_once" },
  { label: "Run Cleanup Session", desired: "run_cleanup" },
];

export const runKey = (agent) => `run:${agent.seat}`;

/** Want something of an agent. */
export function want(agent, { desired, label, now = false }) {
  const wish = { desired, note: `${label}, by Mission Control`, ...(now ? { now } : {}) };
  return store.act(runKey(agent), label, () => put(path`/api/agents/${agent.id}/run`, wish));
}
