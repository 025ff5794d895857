// The state of a channel in words, and the requests that change it: shared by the ring, the members and the list.

import { get, path, post } from "./api.js";
import { secondsUntil, span } from "./clock.js";
import { store } from "./store.js";

export const MODES = {
  inject: {
    button: "Send",
    does: "Delivered at once to the agent that has the turn; unread for the others.",
  },
  queue: { button: "Send after this turn", does: "Delivered when the turn ends." },
  interrupt: { button: "Interrupt and send", does: "Pauses the turn until you resume it." },
  parallel: { button: "Send to all", does: "Delivered to every member at once." },
};

/** The state of a channel, in two words and in a sentence. */
export function stateOf(channel) {
  const { holder, waiting, stopping, resting, ring, epoch } = channel;
  if (stopping)
    return {
      short: `stopping ${stopping}`,
      long: `Stopping the work of ${stopping}; no agent has the turn until it has stopped.`,
    };
  if (waiting?.byHuman)
    return {
      short: `${holder} is interrupted`,
      long: `You interrupted ${holder}; turn ${epoch} is paused until you resume it.`,
    };
  if (waiting?.approval)
    return {
      short: `${holder} needs approval`,
      long: `${holder} is waiting for your approval in turn ${epoch}; the turn timeout is paused.`,
    };
  if (waiting)
    return {
      short: `${holder} is waiting`,
      long: `${holder} is waiting in turn ${epoch}: ${waiting.reason}`,
    };
  if (holder) return { short: `${holder} has the turn`, long: `${holder} has turn ${epoch}.` };
  if (resting) return { short: "resting", long: "Resting after silent rounds. A message wakes the channel." };
  if (!ring.length) return { short: "no members", long: "No members yet. Add a member." };
  return { short: "idle", long: "No agent has the turn. A message gives it to the next agent present." };
}

/** Time left until the timeout: {seconds, part of the whole}, or null without a timeout. */
export function timeLeft(channel) {
  if (!channel.timeoutAt) return null;
  const seconds = secondsUntil(channel.timeoutAt);
  const holder = channel.members.find(({ agent }) => agent === channel.holder);
  const whole = channel.waiting
    ? (Date.parse(channel.waiting.until) - Date.parse(channel.waiting.since)) / 1000
    : (holder?.timeoutSeconds ?? channel.config.defaultTimeoutSeconds);
  return { seconds, part: Math.min(1, seconds / Math.max(whole, 1)) };
}

/** Time left until the timeout, in words. */
export function countdown(channel) {
  const left = timeLeft(channel);
  if (!left) return "";
  if (left.seconds <= 0) return "timeout reached";
  return `${clockFace(left.seconds)} ${channel.stopping ? "to stop" : channel.waiting ? "until the wait times out" : "until timeout"}`;
}

function clockFace(seconds) {
  if (seconds >= 3600) return span(seconds);
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Await a request, then return a `seq` at which its effect is in the log for certain. */
export async function confirmed(asking) {
  await asking;
  return get("/api/health");
}

/** Change a turn: pass, resume or override. */
export function turn(channel, act, label, body = {}) {
  return store.act(`turn:${channel}`, label, () => post(path`/api/channels/${channel}/turn/${act}`, body));
}
