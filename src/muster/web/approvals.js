// Approval requests: the open ones, answering them, and announcing them to screen readers.

import { get, path, post } from "./api.js";
import { secondsUntil, span } from "./clock.js";
import { store } from "./store.js";
import { visible } from "./visible.js";

/** Open requests, oldest first: a new one is appended, so no button moves under the pointer. */
export function approvals({ seat = null, channel = null } = {}) {
  return store.shown
    .flatMap((agent) => agent.approvals)
    .filter((each) => (seat === null || each.seat === seat) && (channel === null || each.channel === channel))
    .sort((a, b) => Number(a.id) - Number(b.id));
}

export const approvalKey = ({ id }) => `approval:${id}`;

/** The permissions that a person can give: the label of each, and how far it reaches. */
export const permissions = ({ rules }) =>
  rules.length
    ? [
        ["Allow once", "once"],
        ["For this session", "session"],
        ["Always", "always"],
      ]
    : [["Allow", "once"]];

/** Allow or deny a request. A permission can reach further than this call. */
export function answer(approval, allow, note = "", scope = "once", label = allow ? "Allow" : "Deny") {
  const body = { allow, ...(note ? { note } : {}), ...(scope === "once" ? {} : { scope }) };
  return store.act(approvalKey(approval), label, () => post(path`/api/approvals/${approval.id}`, body));
}

/** Answer several requests, one after the other: each answer is confirmed by itself. */
export async function answerAll(several, allow) {
  for (const each of several) await answer(each, allow);
}

/** Who allowed or denied what, the newest first. */
export const decisions = (agent = null) =>
  get(`/api/decisions${agent ? `?agent=${encodeURIComponent(agent)}` : ""}`);

/** The answer that the timeout will give, and when: `auto-deny in 4:05`. */
export function otherwise({ until, default: allowed }) {
  const left = Math.ceil(secondsUntil(until));
  const then = `else it is ${allowed ? "allowed" : "denied"}`;
  if (left <= 0) return `Time is up: ${then}`;
  const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  return `Answer within ${left < 60 ? `${left} s` : left < 3600 ? clock : span(left)}, ${then}`;
}

const NOBODY = { deadline: "by timeout", session_end: "by the end of its session" };

/** Who answered a request: a person by name, or the reason why nobody did. */
export const byWhom = ({ how, by }) => (by ? `by ${by}` : (NOBODY[how] ?? ""));

/** How a request was answered, by its event: `Denied by hana`. */
export const answered = ({ allow, how, actor }) =>
  `${allow ? "Allowed" : "Denied"} ${byWhom({ how, by: how === "person" && visible(actor.replace(/^\w+:/, ""), 60) })}`;

/** The request in one line, without the agent's name. */
export function wants({ tool, by }) {
  const name = /^[\w.:-]+$/.test(tool) ? tool : `a tool called “${visible(tool, 80)}”`; // a name may be any sentence
  return `asks to use ${name}${by ? ` (subagent ${visible(by, 60)})` : ""}`;
}

// ── screen readers ────────────────────────────────────────────────────────────────

/** Announce each request and its answer in the live region. */
export function announceApprovals() {
  const place = document.getElementById("notices");
  store.listen((events) => {
    const said = events.map(announcement).filter(Boolean);
    if (said.length) place.textContent = said.join(" ");
  });
}

function announcement(event) {
  const name = visible(store.agents.get(event.seat)?.id ?? `seat ${event.seat}`, 60);
  if (event.type === "approval_requested")
    return `${name} is waiting for your approval: ${visible(event.tool, 80)}.`;
  if (event.type !== "approval_answered") return "";
  if (event.how === "session_end") return `${name} is no longer waiting for approval.`;
  return `The request of ${name} was ${event.allow ? "allowed" : "denied"}${event.how === "deadline" ? " by timeout" : ""}.`;
}
