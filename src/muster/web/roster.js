// The roster: in which group an agent stands, and the order within it. The server says what an agent does; what
// needs a person comes first.

import { needsOf } from "./attention.js";
import { meaning } from "./badge.js";
import { visible } from "./visible.js";

/** The groups, in the order of the page: the heading, and the words after a number. */
export const GROUPS = [
  { name: "needs", label: "Needs you", count: "need you" },
  { name: "working", label: "Working", count: "working" },
  { name: "waiting", label: "Waiting", count: "waiting" },
  { name: "idle", label: "Ready", count: "ready" },
  { name: "stopped", label: "Stopped", count: "stopped" },
  { name: "unknown", label: "Unknown", count: "unknown" },
];

export const MANY = 12; // agents from which on a list is easier to read than cards
const CALM_MS = 8000; // an agent that stops working stays where it is for this long, so that rows do not jump

const since = ({ evidence }) => (evidence ? Date.parse(evidence.at) : 0);
const byName = (a, b) => a.id.localeCompare(b.id);

/** The ways to sort within a group. */
export const SORTS = {
  seat: { label: "By seat", compare: (a, b) => a.seat - b.seat },
  name: { label: "By name", compare: byName },
  cost: {
    label: "By cost",
    compare: (a, b) => (b.used?.costUsd ?? 0) - (a.used?.costUsd ?? 0) || byName(a, b),
  },
  newest: { label: "By last activity", compare: (a, b) => since(b) - since(a) },
};

/** The group of an agent now. */
export const groupNow = (agent) => (needsOf(agent).length ? "needs" : agent.badge.group);

/** The groups of agents, kept calm: an agent that takes turns is not moved at every turn. */
export class Places {
  #seen = new Map(); // by seat: {group, at}

  group(agent, now = performance.now()) {
    const group = groupNow(agent);
    const last = this.#seen.get(agent.seat);
    const pauses = last?.group === "working" && (group === "waiting" || group === "idle");
    if (pauses && now - last.at < CALM_MS) return "working";
    this.#seen.set(agent.seat, { group, at: now });
    return group;
  }
}

/** Whether an agent matches the words of a filter: its name, its place on the page, what it does, its machine, its groups. */
export function matches(agent, filter) {
  const { label } = GROUPS.find(({ name }) => name === groupNow(agent));
  const text = [
    agent.id,
    label,
    agent.badge.status,
    visible(meaning(agent.badge)),
    agent.node,
    ...agent.groups,
  ]
    .join(" ")
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
