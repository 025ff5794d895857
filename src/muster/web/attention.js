// What needs a person, as the server lists it. Shown first on the page, and counted in its title and icon.

import { path, post, say } from "./api.js";
import { meaning } from "./badge.js";
import { closeAllBut } from "./push.js";
import { go } from "./router.js";
import { store } from "./store.js";

const LATER_SECONDS = 3600;
const UNDO_MS = 8000;
const TOLD_CHARS = 30;

/** Everything that needs a person, most urgent first. */
export const needs = () => store.needs.needs;

/** The needs of one agent. */
export const needsOf = ({ seat }) => needs().filter((need) => need.seat === seat);

/** The reason of a need. The badge of an agent says what it does about it, and when. */
export function reason(need) {
  const agent = store.agents.get(need.seat);
  if (!agent || !["failing", "stuck"].includes(need.kind)) return need.why;
  const line = meaning(agent.badge);
  // the whole reason, or the line of a trace that says what went wrong: the badge may cut either short
  const isTold = [need.why, need.why.split(" | ").at(-1)].some((text) =>
    line.includes(text.slice(0, TOLD_CHARS)),
  );
  return need.kind === "failing" && !isTold ? `${line}: ${need.why}` : uncut(line, need.why);
}

/** A line that has a reason cut short, with the whole reason: its end says what to do. */
function uncut(line, whole) {
  const [, start] = line.match(/: (.+)…/) ?? [];
  return start && whole.startsWith(start) ? line.replace(`${start}…`, () => whole.replace(/\.$/, "")) : line;
}

/** The agent, channel or request that a need is about, and the parts of its address in the page. */
export function about({ kind, agent, channel, conversation }) {
  if (kind === "disk") return { name: "The disk of muster", place: [] };
  if (conversation)
    return { name: conversation.replace("conv_", "Task "), place: ["conversation", conversation] };
  if (channel && ["limit", "runaway"].includes(kind))
    return { name: `#${channel}`, place: ["channel", channel] };
  return { name: agent, place: ["agent", agent] };
}

/** Send the answer to where the question came from: its channel, or the agent alone. */
export function answer({ channel }, receiver, message, key) {
  if (channel) return say(path`/api/channels/${channel}/messages`, { message }, key);
  return say("/api/send", { message, ...receiver }, key);
}

// ── put aside ──────────────────────────────────────────────────────────────────────────────

export const needKey = ({ key }) => `need:${key}`;

let settled = null;

/** What was put aside in the last seconds, and can be taken back; or null. */
export const undoable = () => settled;

/** Put a need aside as done. */
export const done = (need) => settle(need, "Done", {});

/** Put a need off for an hour. */
export const later = (need) => settle(need, "Later", { seconds: LATER_SECONDS });

const MORE_TURNS = 10;

/** Let work go on beyond its limit for some turns. */
export const goOn = (need) =>
  store.act(needKey(need), "Go on", () => post(path`/api/needs/${need.key}/more`, { turns: MORE_TURNS }));

async function settle(need, label, body) {
  const answer = await store.act(needKey(need), label, () => post(path`/api/needs/${need.key}/settle`, body));
  if (!answer) return;
  const mine = { need, label };
  settled = mine;
  setTimeout(() => settled === mine && forget(), UNDO_MS);
  store.touch("team");
}

/** Take the last one back. */
export async function undo() {
  if (!settled) return false;
  const { need } = settled;
  forget();
  return store.act(needKey(need), "Undo", () => post(path`/api/needs/${need.key}/reopen`));
}

function forget() {
  settled = null;
  store.touch("team");
}

// ── the title, the icon, the notification ──────────────────────────────────────────────────────

let known = null;

/** Keep the title and the icon up to date, and send browser notifications for new needs if they are on. */
export function watchNeeds() {
  const look = () => store.ready && tell(needs());
  for (const topic of ["team", "agents", "channels"]) store.watch(topic, look);
  document.addEventListener("routed", look);
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    location.hash = data.place; // the press of a notification
  });
}

function tell(found) {
  const keys = found.map(({ key }) => key).join(" ");
  const place = document.querySelector("main h1")?.textContent ?? "team";
  document.title = `${found.length ? `(${found.length}) ` : ""}${place} · muster`;
  if (known?.keys === keys) return;
  showIcon(found.length);
  if (known && wantsNotices())
    found.filter(({ key }) => !known.keys.split(" ").includes(key)).forEach(notify);
  if (localStorage.getItem("notify") === "push") closeAllBut(keys.split(" "));
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

function notify(need) {
  if (!document.hidden) return;
  const { name, place } = about(need);
  const notice = new Notification(`${name} ${need.what}`, { body: reason(need), tag: need.key });
  notice.onclick = () => {
    window.focus();
    go(...place);
  };
}
