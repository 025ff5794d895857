// What the palette offers: places to go to, and things to do. A thing to do is a verb with its object: "stop builder" finds the
// control of that agent. It is offered only if the verb comes first: the words of agents are in many objects, and a search for one
// of them must not stand before something that acts.

import { post } from "./api.js";
import { approvals } from "./approvals.js";
import { meaning } from "./badge.js";
import { showAddAgent } from "./elements/agent-dialog.js";
import { showRequest } from "./elements/approval-list.js";
import { showHelp } from "./elements/help.js";
import { showNotifications } from "./elements/notify-dialog.js";
import * as keys from "./keys.js";
import { go } from "./router.js";
import { allControlsOf, press } from "./run.js";
import { ask, fit } from "./several.js";
import { store } from "./store.js";
import { act, stateOf, talks } from "./talks.js";
import { canAsk, cancel, runAgain } from "./tasks.js";
import { nextTheme } from "./theme.js";
import { VIEWS } from "./views/views.js";
import { visible } from "./visible.js";

const TITLE_CHARS = 80;
const ASK_WORDS = 2; // shorter words are a search, not a request

/** Everything that fits some words: places first, then what can be done. */
export function offered(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ name, about }) => {
    const line = `${name} ${about}`.toLowerCase();
    return wanted.every((word) => line.includes(word));
  };
  const isMeant = (each) => fits(each) && each.name.toLowerCase().startsWith(wanted[0]);
  const found = [
    ...places().filter(fits),
    ...(wanted.length ? settings().filter(fits) : []),
    ...toEvent(text),
  ];
  if (wanted.length && !store.reader) found.push(...verbs().filter(isMeant));
  return found.sort((a, b) => rank(a, wanted) - rank(b, wanted));
}

/** The request that the words are, where a session is open: it comes after everything else. */
export function request(text) {
  const wanted = text.trim().replace(/^ask:?\s+/i, "");
  if (!canAsk() || wanted.split(/\s+/).length < ASK_WORDS) return [];
  const run = async () => {
    const body = { text: wanted, wait: false };
    const asked = await act("ask", "Asking", () => post("/api/conversations", body));
    go("conversation", ...(asked ? [asked.conversation] : []));
  };
  return [verb(`Ask: ${visible(wanted, TITLE_CHARS)}`, "a new task", run)];
}

/** A name that begins with the words comes first: "stop b" is "Stop builder" before "Stop claude-backend". */
function rank({ name }, wanted) {
  const told = name.toLowerCase().replace(/^#/, "");
  if (told.startsWith(wanted.join(" "))) return 0;
  return told.startsWith(wanted[0]) ? 1 : 2;
}

// ── places ───────────────────────────────────────────────────────────────────────────────────

function places() {
  const agents = store.shown.map((agent) => ({
    path: ["agent", agent.id],
    name: agent.name ?? `seat ${agent.seat}`,
    about: `${agent.badge.status}, ${meaning(agent.badge)}`,
  }));
  const channels = [...store.channels.values()].map(({ channel, archived }) => ({
    path: ["channel", channel],
    name: `#${channel}`,
    about: archived ? "archived channel" : "channel",
  }));
  const views = VIEWS.filter((view) => view.tab).map((view) => ({
    path: [view.name],
    name: view.tab,
    about: "view",
  }));
  return [...agents, ...channels, ...views, ...tasks(), ...files()];
}

const newest = () => [...talks.list].reverse();

const tasks = () =>
  newest().map((talk) => ({
    path: ["conversation", talk.conversation],
    name: visible(talk.text, TITLE_CHARS),
    about: `task, ${stateOf(talk).word}`,
  }));

const files = () =>
  newest().flatMap(({ conversation, text, files }) =>
    files.map(({ path }) => ({
      key: `file-${conversation}-${path}`,
      path: ["conversation", conversation],
      name: visible(path, TITLE_CHARS),
      about: `file of: ${visible(text, TITLE_CHARS)}`,
    })),
  );

/** "event 1706", or the number alone: the team as it was then. */
function toEvent(text) {
  const seq = /^(?:event\s+|#)?(\d{1,15})$/.exec(text.trim())?.[1];
  return seq ? [{ path: ["time", seq], name: `Event ${seq}`, about: "the team at that moment" }] : [];
}

// ── things to do ─────────────────────────────────────────────────────────────────────────────

const verbs = () => [...controls(), ...requests(), ...ofTasks(), ...ofTeam()];

/** Settings of this browser, found by any of their words. */
function settings() {
  return [
    verb("Switch theme", "system, light or dark", nextTheme),
    verb("Show keyboard shortcuts", "help", showHelp),
    verb("Notifications", "of this browser, on and off", showNotifications),
    verb(
      keys.areOn() ? "Turn single-key shortcuts off" : "Turn single-key shortcuts on",
      "keyboard",
      keys.turn,
    ),
  ];
}

const verb = (name, about, run) => ({ key: `do-${name}-${about}`, name, about, run });

const controls = () =>
  store.shown.flatMap((agent) => [
    ...allControlsOf(agent).map((control) =>
      verb(`${control.label.replace(/ Agent$/, "")} ${agent.id}`, meaning(agent.badge), () =>
        press(agent, control),
      ),
    ),
    ...(store.mayActOn(agent)
      ? [verb(`Message ${agent.id}`, "write to this agent", () => go("agent", agent.id, "write"))]
      : []),
  ]);

const requests = () =>
  approvals()
    .filter(({ seat }) => store.mayActOn({ seat }))
    .flatMap((each) => {
      const what = `${visible(each.tool, 40)} of ${store.agents.get(each.seat)?.id}`;
      const about = visible(each.detail ?? "", TITLE_CHARS);
      return [
        verb(`Allow ${what} …`, about, () => showRequest(each, ".allow")),
        verb(`Deny ${what} …`, about, () => showRequest(each, ".deny")),
      ];
    });

const ofTasks = () =>
  (store.scope ? [] : newest()).map((talk) => {
    const title = visible(talk.text, TITLE_CHARS);
    return talk.outcome === null
      ? verb(`Cancel: ${title}`, "task", () => cancel(talk))
      : verb(`Run again: ${title}`, "task", () => runAgain(talk));
  });

function ofTeam() {
  const running = fit("stop", store.shown);
  return [
    ...(store.operates ? [verb("Add an agent", "team", () => showAddAgent())] : []),
    ...(running.length ? [verb("Stop all agents", `${running.length} run`, () => ask("stop", running))] : []),
  ];
}
