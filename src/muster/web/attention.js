// Agents that need a person, with the reason. Shown first on the page, and counted in its title and icon.

import { approvals, wants } from "./approvals.js";
import { meaning } from "./badge.js";
import { everySecond, secondsSince } from "./clock.js";
import { store } from "./store.js";

const STUCK_SECONDS = 30; // desired and current may differ while a session starts
const FAILURES = 2; // a single failure is retried without a person
const KINDS = ["approval", "waiting", "failing", "stuck", "failed", "conflict"];

export const WORDS = {
  approval: "is waiting for your approval",
  waiting: "is waiting for you",
  failing: "keeps failing",
  stuck: "is stuck",
  failed: "failed",
  conflict: "has conflicting reports",
};

/** Everything that needs a person, most urgent first: {kind, seat, id, why, since, key, channel?}. */
export function needs() {
  return store.shown
    .flatMap(needsOf)
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.seat - b.seat);
}

/** The needs of one agent. */
export function needsOf(agent) {
  const found = [approval, waiting, failing, stuck, failed, conflict].flatMap((look) => look(agent) ?? []);
  return found
    .map((need) => ({
      ...need,
      seat: agent.seat,
      id: agent.id,
      key: `${need.kind}:${agent.seat}:${need.place ?? ""}`,
    }))
    .filter((need) => !dismissed.has(need.key));
}

function approval(agent) {
  return approvals({ seat: agent.seat }).map((each) => ({
    kind: "approval",
    why: wants(each),
    since: each.since,
    place: each.id,
  }));
}

function waiting(agent) {
  return Object.keys(agent.channels).flatMap((name) => {
    const channel = store.channel(name);
    const wait = channel?.holder === agent.id ? channel.waiting : null;
    if (!wait || wait.approval) return [];
    const why = wait.byHuman ? `interrupted by you in #${name}` : `${wait.reason} (in #${name})`;
    return [{ kind: "waiting", why, since: wait.since, channel: name, place: channel.epoch }];
  });
}

function failing(agent) {
  if (agent.failures < FAILURES || !agent.retryAt) return null;
  return { kind: "failing", why: meaning(agent.badge), since: store.note(agent.seat).ended?.at };
}

function stuck(agent) {
  if (agent.failures || !agent.differsSince || secondsSince(agent.differsSince) < STUCK_SECONDS) return null;
  return { kind: "stuck", why: meaning(agent.badge), since: agent.differsSince };
}

function failed(agent) {
  const ended = store.note(agent.seat).ended;
  if (agent.desired === "pause" && agent.setBy !== "muster") return null; // a person stopped it, and knows
  if (!ended || agent.session || agent.retryAt || !["failed", "crashed"].includes(ended.outcome)) return null;
  const code = ended.code === undefined ? "" : ` with exit code ${ended.code}`;
  const why = `last session ${ended.outcome}${code}${ended.reason ? `: ${ended.reason}` : ""}`;
  return { kind: "failed", why, since: ended.at, place: ended.seq };
}

function conflict(agent) {
  const found = store.note(agent.seat).conflict;
  if (!found || (agent.evidence && agent.evidence.seq > found.seq)) return null;
  return {
    kind: "conflict",
    why: `reported ${found.reported}, but ${found.evidence}`,
    since: found.at,
    place: found.seq,
  };
}

// ── dismissed ──────────────────────────────────────────────────────────────────────────────

const dismissed = new Set(JSON.parse(localStorage.getItem("dismissed") ?? "[]"));

/** Hide a need that a person has seen. Kept in this browser. */
export function dismiss({ key }) {
  dismissed.add(key);
  localStorage.setItem("dismissed", JSON.stringify([...dismissed].slice(-200)));
  store.touch("team", "agents");
}

export const canDismiss = ({ kind }) => kind === "failed" || kind === "conflict";

// ── the title, the icon, the notification ──────────────────────────────────────────────────────

let known = null;

/** Keep the title and the icon up to date, and send browser notifications for new needs if they are on. */
export function watchNeeds() {
  const look = () => store.ready && tell(needs());
  for (const topic of ["team", "agents", "channels"]) store.watch(topic, look);
  everySecond(look);
  document.addEventListener("routed", look);
}

function tell(found) {
  const keys = found.map(({ key }) => key).join(" ");
  const place = document.querySelector("main h1")?.textContent ?? "team";
  document.title = `${found.length ? `(${found.length}) ` : ""}${place} · muster`;
  if (known?.keys === keys) return;
  showIcon(found.length);
  if (known && wantsNotices())
    found.filter(({ key }) => !known.keys.split(" ").includes(key)).forEach(notify);
  known = { keys };
}

function showIcon(count) {
  const label = count > 9 ? "9+" : String(count);
  const badge = `<circle cx="21" cy="21" r="11" fill="#cf222e"/><text x="21" y="26" font-size="14" font-family="sans-serif" font-weight="bold" text-anchor="middle" fill="#fff">${label}</text>`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 2 30 16 16 30 2 16Z" fill="#0b62c4"/>${count ? badge : ""}</svg>`;
  document.querySelector("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(picture)}`;
}

export const canNotify = () => "Notification" in window && Notification.permission !== "denied";
export const wantsNotices = () =>
  canNotify() && Notification.permission === "granted" && localStorage.getItem("notify") === "yes";

export async function askForNotices() {
  const wanted = wantsNotices()
    ? "no"
    : (await Notification.requestPermission()) === "granted"
      ? "yes"
      : "no";
  localStorage.setItem("notify", wanted);
  store.touch("team");
}

function notify({ id, kind, why, key }) {
  if (!document.hidden) return;
  const notice = new Notification(`${id} ${WORDS[kind]}`, { body: why, tag: key });
  notice.onclick = () => {
    window.focus();
    location.hash = `#/agent/${encodeURIComponent(id)}`;
  };
}
