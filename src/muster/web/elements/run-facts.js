// When and how an agent runs, as its settings say: schedule, next run, policies, groups, dependencies, limits.

import { moment, secondsUntil, span } from "../clock.js";
import { dollars } from "../costs.js";
import { h, keyed, setAttribute, setText } from "../dom.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { visible } from "../visible.js";

const RESTARTS = {
  always: "always: a failed session is retried with backoff",
  "on-failure": "on failure: a failed session is retried, a success pauses it",
  never: "never: it is paused after any session",
};

const RUNS = {
  loop: "again and again: it finds its own work",
  start: "when it is started, then when there is work: a turn, a message, a scheduled time",
  work: "when there is work: a turn, a message, a scheduled time",
};

/** An element for these facts; paint it with `paintFacts`. */
export const factList = () => h("dl", { class: "policies" });

/** Show the facts of an agent that muster runs; other agents have none of these settings. */
export function paintFacts(list, agent) {
  const facts = [...fileFacts(agent), ...(agent.authority === "muster" ? factsOf(agent) : [])];
  keyed(
    list,
    facts,
    ({ name }) => name,
    ({ name }) => h("div", {}, h("dt", { text: name }), h("dd")),
    (row, { text, links, waits }) => {
      const value = row.lastElementChild;
      setAttribute(value, "data-waits", waits ? "" : null);
      if (!links) return setText(value, text);
      const told = JSON.stringify(links);
      if (value.told === told) return;
      value.told = told;
      value.replaceChildren(...links.flatMap((each, at) => [at ? ", " : "", anchor(each)]));
    },
  );
}

const anchor = ({ text, href }) => h("a", { href, text });

const fileFacts = ({ stateFileProblem }) =>
  stateFileProblem ? [{ name: "State file", text: visible(stateFileProblem), waits: true }] : [];

function factsOf(agent) {
  const { schedule, nextStart, restart, autostart, groups, after, silentSeconds, runsFor } = agent;
  const scheduled = nextStart?.why === "schedule";
  return [
    runsFor && { name: "Runs", text: RUNS[runsFor] },
    schedule && { name: "Schedule", text: schedule },
    schedule && { name: "Next run", text: scheduled ? when(nextStart.at) : noRun(agent) },
    (!schedule || restart === "on-failure") && { name: "Restart", text: restartText(agent) },
    autostart && { name: "Autostart", text: "starts with muster, unless it was paused" },
    after.length && dependencies(agent),
    groups.length && {
      name: "Groups",
      links: groups.map((group) => ({ text: group, href: link("", "group", group) })),
    },
    silentSeconds && { name: "Silence", text: silenceText(agent) },
    ...limitsOf(agent),
    agent.limits.length && { name: "Resources", text: visible(agent.limits.join("; ")) },
  ].filter(Boolean);
}

const SILENCES = {
  tell: "shown and logged",
  interrupt: "its work is interrupted",
  restart: "it is restarted",
};

const silenceText = ({ silentSeconds, onSilence }) =>
  `after ${span(silentSeconds)} without a sign of work: ${SILENCES[onSilence]}`;

const restartText = ({ schedule, restart }) =>
  schedule ? "on failure: a failed run is retried with backoff" : RESTARTS[restart];

/** A time of the day where the person is, and how long until then. */
const when = (at) => `${moment(at)} (in ${span(Math.max(1, Math.round(secondsUntil(at))))})`;

const noRun = (agent) =>
  agent.desired === "pause" ? "none while it is paused" : "after the present session";

function dependencies({ after, waitsFor }) {
  const links = after.map((name) => ({
    text: waitsFor.includes(name) ? `${name} (does not run)` : name,
    href: link("agent", store.agent(name)?.id ?? name),
  }));
  return { name: "Runs after", links, waits: waitsFor.length > 0 };
}

const BUDGETS = [
  ["costUsd", "Cost limit", (most) => dollars(most), (used) => used && dollars(used.costUsd)],
  ["tokens", "Token limit", (most) => most.toLocaleString("en"), (used) => used?.tokens.toLocaleString("en")],
  ["sessionCostUsd", "Cost of a session", (most) => `at most ${dollars(most)}`],
  ["sessionTokens", "Tokens of a session", (most) => `at most ${most.toLocaleString("en")}`],
  ["sessionsPerHour", "Sessions", (most) => `at most ${most} an hour`],
  ["sessionSeconds", "Session", (most) => `at most ${span(most)}`],
  ["failures", "Failures", (most) => `paused after ${most} in a row`],
];

/** The limits in force, with what is used of them. */
function limitsOf({ budget, counted }) {
  return BUDGETS.filter(([key]) => budget[key] !== undefined && budget[key] !== null).map(
    ([key, name, most, used]) => ({
      name,
      text: used ? `${used(counted) || "nothing"} used of ${most(budget[key])}` : most(budget[key]),
    }),
  );
}

/** The same for a card, in one line: `every 30m · after db · in nightly`. */
export function factLine(agent) {
  const file = agent.stateFileProblem ? "state file in trouble" : "";
  const place = agent.node ? `on ${agent.node}` : "";
  if (agent.authority !== "muster") return file || place;
  const { schedule, nextStart, restart, groups, after, budget, runsFor } = agent;
  const next = nextStart?.why === "schedule" ? `, next ${moment(nextStart.at)}` : "";
  return [
    file,
    place,
    schedule && `${schedule}${next}`,
    !schedule && runsFor === "loop" && "loop",
    !schedule && restart !== "always" && `restart ${restart}`,
    after.length && `after ${after.join(", ")}`,
    budget.costUsd && `limit ${dollars(budget.costUsd)}`,
    groups.length && `in ${groups.join(", ")}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
