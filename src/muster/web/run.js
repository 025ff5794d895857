// The controls of an agent, as the server lists them: shared by the card, the keyboard shortcut and the agent view.

import { idOf, path, post, put } from "./api.js";
import { store } from "./store.js";
import { offerUndo } from "./toast.js";

const REQUESTS = {
  run: (agent, { desired, now }) =>
    put(path`/api/agents/${idOf(agent)}/run`, { desired, note: noteOf(desired), ...(now ? { now } : {}) }),
  wake: (agent) => post("/api/agents/wake", { agents: [idOf(agent)] }),
  sleep: (agent) => post("/api/agents/sleep", { agents: [idOf(agent)] }),
  restart: (agent, { now }) =>
    post(path`/api/agents/${idOf(agent)}/restart`, { note: "restarted in Mission Control", now }),
  interrupt: (agent) => post(path`/api/agents/${idOf(agent)}/interrupt`),
  keep: (agent) => post(path`/api/agents/${idOf(agent)}/adopt`),
  retry: (agent) => post(path`/api/agents/${idOf(agent)}/retry`),
  summon: ({ seat }) => post("/api/agents/summon", { seats: [seat] }),
  enable: (agent) => post(path`/api/agents/${idOf(agent)}/enable`),
};

const noteOf = (desired) => `${desired === "pause" ? "stopped" : "started"} in Mission Control`;

/** The controls of an agent, the most important first: the key `s` presses that one. */
export const controlsOf = (agent) => agent?.badge.controls ?? [];

/** The controls of an agent with the further ones, for a menu or a page with room. */
export const allControlsOf = (agent) => [...controlsOf(agent), ...(agent?.badge.more ?? [])];

/** Whether an agent can be moved to another machine by the one who is signed in. */
export const movable = ({ authority }) => store.operates && store.nodes > 1 && authority === "muster";

export const runKey = (agent) => `run:${agent.seat}`;

/** Send the request of a control. A start or a stop can be taken back for some seconds. */
export async function press(agent, control, { isOne = true } = {}) {
  const { id, desired: before } = agent;
  const done = await store.act(runKey(agent), control.label, () => REQUESTS[control.act](agent, control));
  if (done && isOne && control.act === "run" && control.desired !== before) {
    const says = control.desired === "pause" ? "stops" : "starts";
    offerUndo(`${id} ${says}.`, () =>
      press(agent, { ...control, desired: before, now: false }, { isOne: false }),
    );
  }
  return done;
}
