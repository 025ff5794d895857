// What agents may do only if a person allows it: which requests are open, how they are answered, and who is told.

import { path, post } from "./api.js";
import { secondsUntil, span } from "./clock.js";
import { store } from "./store.js";
import { visible } from "./visible.js";

/** Every open request, the oldest first, so that none moves away under a hand when another comes. */
export function approvals({ seat = null, channel = null } = {}) {
  return store.shown
    .flatMap((agent) => agent.approvals)
    .filter((each) => (seat === null || each.seat === seat) && (channel === null || each.channel === channel))
    .sort((a, b) => Number(a.id) - Number(b.id));
}

export const approvalKey = ({ id }) => `approval:${id}`;

/** Allow something, or deny it. */
export function answer(approval, allow, note) {
  const body = { allow, ...(note ? { note } : {}) };
  return store.act(approvalKey(approval), allow ? "Allow" : "Deny", () =>
    post(path`/api/approvals/${approval.id}`, body),
  );
}

/** What holds if nobody answers, and when: `denied in 4:05`. */
export function otherwise({ until, default: allowed }) {
  const left = Math.ceil(secondsUntil(until));
  const then = allowed ? "allowed" : "denied";
  if (left <= 0) return `${then} now`;
  if (left >= 3600) return `${then} in ${span(left)}`;
  return `${then} in ${left < 60 ? `${left} s` : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`}`;
}

/** Who wants what, in a line. */
export function wants({ tool, by }) {
  return `${by ? `lets its helper ${visible(by, 60)} ask for` : "asks for"} ${visible(tool, 80)}`;
}

// ── for those who hear the page ────────────────────────────────────────────────────────────────

/** Say it when somebody asks, and when that is settled. */
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
    return `${name} waits for your approval: ${visible(event.tool, 80)}.`;
  if (event.type !== "approval_answered") return "";
  if (event.how === "session_end") return `${name} waits for no approval any more.`;
  return `What ${name} asked for was ${event.allow ? "allowed" : "denied"}${event.how === "deadline" ? ", because nobody answered" : ""}.`;
}
