// Requests to several agents at once: one request each, and only to agents whose controls allow it.

import { controlsOf, press } from "./run.js";

const AT_ONCE = 6; // requests in flight: a browser opens no more connections

const isRun = (control, pauses) => control?.act === "run" && (control.desired === "pause") === pauses;

/** The control of an agent for an action on several, or undefined: the server says what is possible. */
const CONTROLS = {
  start: (agent) =>
    controlsOf(agent)
      .slice(0, 1)
      .find((each) => isRun(each, false)),
  stop: (agent) =>
    controlsOf(agent)
      .slice(0, 1)
      .find((each) => isRun(each, true) && !each.now),
  restart: (agent) => agent.badge.more.find(({ act, now }) => act === "restart" && !now),
};

/** The agents to which an action applies. */
export const fit = (action, agents) => agents.filter((agent) => CONTROLS[action](agent));

/** Send the action to all of them; `now` interrupts their sessions. Returns how many were accepted and refused. */
export async function ask(action, agents, now = false) {
  const left = [...agents];
  const told = { done: 0, refused: 0 };
  const work = async () => {
    for (let agent = left.shift(); agent; agent = left.shift()) {
      const control = CONTROLS[action](agent);
      // a loop that follows its state file stops after its session only
      const urgent = now && agent.authority !== "file" ? { now } : {};
      const answer = control && (await press(agent, { ...control, ...urgent }, { isOne: false }));
      told[answer ? "done" : "refused"] += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return told;
}

const NAMES_SHOWN = 12;

/** The names of agents in a confirmation; of many the first are named. */
export function namesOf(agents) {
  const names = agents.map(({ id }) => id);
  const more = names.length - NAMES_SHOWN;
  return names.slice(0, NAMES_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
