// The buttons of run control, shared by the card, the keyboard shortcut and the agent view.

import { path, put } from "./api.js";
import { store } from "./store.js";

/** The buttons of an agent in its current state, from the server's badge: {label, color, desired, now}. */
export function controlsOf(agent) {
  if (agent.status === "hatching" || agent.status === "expired") return [];
  const [main] = agent.badge.controls;
  const stopping = main.desired === "pause" && agent.desired === "pause";
  return [stopping ? { ...main, label: "Stop now", now: true } : main];
}

/** The single-session buttons, shown while the agent is paused. */
export const ONE_SHOTS = [
  { label: "Run Single Session", desired: "run_once" },
  { label: "Run Cleanup Session", desired: "run_cleanup" },
];

export const runKey = (agent) => `run:${agent.seat}`;

/** Set the desired state of an agent. */
export function want(agent, { desired, label, now = false }) {
  const wish = { desired, note: `${label}, by Mission Control`, ...(now ? { now } : {}) };
  return store.act(runKey(agent), label, () => put(path`/api/agents/${agent.id}/run`, wish));
}
