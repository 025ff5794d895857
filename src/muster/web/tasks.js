// What people do with tasks: run one again, cancel it, and go on from it; and where a task stands on the board.

import { path, post } from "./api.js";
import { needsOf } from "./attention.js";
import { go } from "./router.js";
import { store } from "./store.js";
import { act, talks } from "./talks.js";

/** The columns of the board, in order. */
export const COLUMNS = [
  { name: "waiting", label: "Waiting" },
  { name: "working", label: "Working" },
  { name: "needs", label: "Needs you" },
  { name: "done", label: "Done" },
  { name: "undone", label: "Not done" },
];

const HOMES = new Set(["MAIN", "QUEUE"]);
const NAMED = new Set(["person", "agent"]); // rules: whoever asked named the agent
const ASKS = new Set(["approval", "question", "held"]);

/** The agent that works on a task, or worked on it last; or null. */
export function workerOf(talk) {
  const last = talk.trace.map(({ to }) => to).findLast((to) => !HOMES.has(to));
  return last ?? (HOMES.has(talk.state) ? null : talk.state);
}

/** The column of a task: what a person has to know about it first. */
export function columnOf(talk) {
  if (talk.outcome === "answered" && !talk.denied) return "done";
  if (talk.outcome !== null) return "undone";
  if (HOMES.has(talk.state)) return "waiting";
  const agent = store.agent(talk.state);
  return agent && needsOf(agent).some(({ kind }) => ASKS.has(kind)) ? "needs" : "working";
}

export const againKey = ({ conversation }) => `again:${conversation}`;
export const cancelKey = ({ conversation }) => `cancel:${conversation}`;
export const goOnKey = ({ conversation }) => `continue:${conversation}`;

/** Ask the same once more, of the same agent where it was chosen by name. */
export async function runAgain(talk) {
  const { text, route } = talk;
  const to = NAMED.has(route?.rule) ? { to: route.agent } : {};
  return opened(
    await act(againKey(talk), "Asking", () => post("/api/conversations", { text, wait: false, ...to })),
  );
}

/** Ask something more of the agent that did the task; it is told what went before. */
export async function goOnFrom(talk, text) {
  const body = { text, wait: false, continues: talk.conversation };
  return opened(await act(goOnKey(talk), "Asking", () => post("/api/conversations", body)));
}

/** End a task that is no longer wanted. */
export const cancel = (talk) =>
  act(cancelKey(talk), "Cancelling", () => post(path`/api/conversations/${talk.conversation}/cancel`));

export const canAsk = () => Boolean(talks.session?.open) && !store.reader && !store.scope;

function opened(asked) {
  if (asked) go("conversation", asked.conversation);
  return asked;
}
