// What is said of a channel, and how a page acts on it: the same for its ring, its members and its list.

import { get, path, post } from "./api.js";
import { secondsUntil, span } from "./clock.js";
import { store } from "./store.js";

export const MODES = {
  inject: { button: "Send", does: "Whoever has the turn is handed it at once; the others find it unread." },
  queue: { button: "Send after this turn", does: "It waits until the turn is over." },
  interrupt: { button: "Interrupt and send", does: "The turn stands still until you let it go on." },
  parallel: { button: "Send to everybody", does: "Every member is handed it at once." },
};

/** What goes on in a channel, in two words and in a sentence. */
export function stateOf(channel) {
  const { holder, waiting, stopping, resting, ring, epoch } = channel;
  if (stopping)
    return {
      short: `stopping ${stopping}`,
      long: `The work of ${stopping} is being stopped; nobody has the turn meanwhile.`,
    };
  if (waiting?.byHuman)
    return {
      short: `${holder} is held`,
      long: `You interrupted ${holder}; turn ${epoch} goes on when you let it.`,
    };
  if (waiting?.approval)
    return {
      short: `${holder} asks you`,
      long: `${holder} waits in turn ${epoch} for your approval; its clock stands.`,
    };
  if (waiting)
    return { short: `${holder} waits`, long: `${holder} waits in turn ${epoch}: ${waiting.reason}` };
  if (holder) return { short: `${holder} speaks`, long: `${holder} has turn ${epoch}.` };
  if (resting)
    return { short: "resting", long: "It rests: whole rounds passed in silence. A message wakes it." };
  if (!ring.length) return { short: "nobody in it", long: "Nobody is in it yet. Add a member." };
  return { short: "quiet", long: "Nobody has the turn. A message gives it to the next who is here." };
}

/** How much of the time is left: {seconds, part}, or null where nothing runs out. */
export function timeLeft(channel) {
  if (!channel.timeoutAt) return null;
  const seconds = secondsUntil(channel.timeoutAt);
  const holder = channel.members.find(({ agent }) => agent === channel.holder);
  const whole = channel.waiting
    ? (Date.parse(channel.waiting.until) - Date.parse(channel.waiting.since)) / 1000
    : (holder?.timeoutSeconds ?? channel.config.defaultTimeoutSeconds);
  return { seconds, part: Math.min(1, seconds / Math.max(whole, 1)) };
}

/** The time that is left, in words. */
export function countdown(channel) {
  const left = timeLeft(channel);
  if (!left) return "";
  if (left.seconds <= 0) return "time is up";
  return `${clockFace(left.seconds)} ${channel.stopping ? "to stop" : channel.waiting ? "of waiting left" : "to timeout"}`;
}

function clockFace(seconds) {
  if (seconds >= 3600) return span(seconds);
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Answer with the place in the log at which something was done for certain. */
export async function confirmed(asking) {
  await asking;
  return get("/api/health");
}

/** Do something to a turn: pass, resume or override. */
export function turn(channel, act, label, body = {}) {
  return store.act(`turn:${channel}`, label, () => post(path`/api/channels/${channel}/turn/${act}`, body));
}
