// The state of a channel in words, and the requests that change it: shared by the ring, the members and the list.

import { get, path, post } from "./api.js";
import { secondsUntil, span } from "./clock.js";
import { costs, dollars, perMinute } from "./costs.js";
import { store } from "./store.js";
import { visible } from "./visible.js";

export const MODES = {
  inject: {
    button: "Send",
    label: "into the turn (inject)",
    does: "Delivered at once to the agent that has the turn; unread for the others.",
  },
  queue: {
    button: "Send after this turn",
    label: "after the turn (queue)",
    does: "Delivered when the turn ends.",
  },
  interrupt: {
    button: "Interrupt and send",
    label: "now: pause the turn (interrupt)",
    does: "Pauses the turn.",
  },
  parallel: {
    button: "Send to all",
    label: "to all at once (parallel)",
    does: "Delivered to every member at once.",
  },
};

/** The effect of a mode on the turn in progress. */
export function effectOf(mode, { interruptHoldSeconds }) {
  const { does } = MODES[mode];
  if (mode !== "interrupt") return does;
  return `${does} It goes on by itself after ${span(interruptHoldSeconds)}, or when you resume it.`;
}

/** The state of a channel, in two words and in a sentence. */
export function stateOf(channel) {
  const { holder, waiting, stopping, resting, archived, choosing, ring, epoch } = channel;
  if (archived)
    return { short: "archived", long: "Archived: no agent speaks here, and nothing can be posted." };
  if (stopping)
    return {
      short: `stopping ${stopping}`,
      long: `Stopping the work of ${stopping}; no agent has the turn until it has stopped.`,
    };
  if (waiting?.byHuman)
    return {
      short: `${holder} is interrupted`,
      long: `You interrupted ${holder}; turn ${epoch} goes on by itself when the time is over, or when you resume it.`,
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
  if (choosing)
    return {
      short: `${holder} is choosing`,
      long: `${holder} is asked who speaks next (turn ${epoch}).`,
    };
  if (holder) return { short: `${holder} has the turn`, long: `${holder} has turn ${epoch}.` };
  if (resting) return { short: "resting", long: restSentence(channel) };
  if (!ring.length) return nobody(channel);
  return { short: "idle", long: "No agent has the turn. A message gives it to the next agent present." };
}

/** Why nobody is in a channel: its agents are away, each with the failure of its last session, if it failed. */
function nobody({ absent }) {
  if (!absent?.length) return { short: "no members", long: "No members yet. Add a member." };
  const failures = absent.map((name) => [name, failureOf(name)]);
  const told = failures.map(([name, why]) =>
    why ? `${name} failed: ${visible(why, 200)}` : `${name} is away`,
  );
  return { short: failures.some(([, why]) => why) ? "failed" : "nobody here", long: `${told.join(". ")}.` };
}

const failureOf = (name) => [...store.agents.values()].find(({ id }) => id === name)?.lastFailure?.reason;

// ── ends ──────────────────────────────────────────────────────────────────────────────────────

const amount = (count) => count.toLocaleString("en");
const turns = (count) => `${amount(count)} turn${count === 1 ? "" : "s"}`;
const rounds = (count) => `${amount(count)} round${count === 1 ? "" : "s"}`;
const tokens = (count) => `${amount(count)} tokens`;

/** The ends of a conversation, by the rule that a channel names as its `restLimit`. */
const ENDS = {
  restAfterIdleRounds: ({ restAfterIdleRounds: n }) =>
    `every member passed for ${n === 1 ? "a whole round" : `${n} whole rounds`}`,
  nothingNew: (_, stopped) =>
    stopped.length
      ? `the turn was taken away from ${stopped.join(", ")}`
      : "there is nothing new for any member",
  stopPhrase: ({ stopPhrase }) => `the stop phrase “${stopPhrase}” was said`,
  selector: ({ selector }) => `the selector ${selector} ended the conversation`,
  turnsPerMessage: (rule) => `the limit of ${turns(rule.turnsPerMessage)} per message is reached`,
  roundsPerMessage: (rule) => `the limit of ${rounds(rule.roundsPerMessage)} per message is reached`,
  costUsdPerMessage: (rule) => `the limit of ${dollars(rule.costUsdPerMessage)} per message is reached`,
  tokensPerMessage: (rule) => `the limit of ${tokens(rule.tokensPerMessage)} per message is reached`,
  maxTurns: (rule) => `the limit of ${turns(rule.maxTurns)} in all is reached`,
  maxRounds: (rule) => `the limit of ${rounds(rule.maxRounds)} in all is reached`,
  maxCostUsd: (rule) => `the limit of ${dollars(rule.maxCostUsd)} in all is reached`,
  maxTokens: (rule) => `the limit of ${tokens(rule.maxTokens)} in all is reached`,
  alikeInARow: (rule) => `paused as a runaway, the last ${rule.alikeInARow} messages or more say the same`,
  costUsdPerMinute: (rule) =>
    `paused as a runaway, it cost more than ${dollars(rule.costUsdPerMinute)} a minute`,
  costUsdPerDay: (rule) => `the limit of ${dollars(rule.costUsdPerDay)} a day is reached`,
};

/** Why a channel rests, and what starts it again. */
function restSentence({ restLimit, config, members }) {
  const stopped = members.filter((each) => each.stopped).map((each) => each.agent);
  const why = ENDS[restLimit]?.(config, stopped) ?? "the conversation has ended";
  const then =
    restLimit?.startsWith("max") || restLimit === "costUsdPerDay"
      ? "Raise the limit in the rules to let it go on."
      : "A message starts it again.";
  return `Resting: ${why}. ${then}`;
}

/** Use since the last message of a person and in all, each against its limits. */
export function progress(channel) {
  const { config, turnsSinceMessage, usedSinceMessage, turns: all, used } = channel;
  const since = [
    against(turnsSinceMessage, config.turnsPerMessage, turns),
    against(usedSinceMessage?.costUsd, config.costUsdPerMessage, dollars),
    against(usedSinceMessage?.tokens, config.tokensPerMessage, tokens),
    config.roundsPerMessage ? `at most ${rounds(config.roundsPerMessage)}` : "",
  ];
  const total = [
    against(all, config.maxTurns, turns),
    against(used?.costUsd, config.maxCostUsd, dollars),
    against(used?.tokens, config.maxTokens, tokens),
    config.maxRounds ? `at most ${rounds(config.maxRounds)}` : "",
    perMinute(costs.rateOf(channel.channel)),
  ];
  return [
    turnsSinceMessage || usedSinceMessage ? `Since the last message: ${listed(since)}` : "",
    all || used ? `In all: ${listed(total)}` : "",
  ].filter(Boolean);
}

const listed = (parts) => parts.filter(Boolean).join(", ");

/** “3 of 100 turns”, or without a limit “3 turns”; empty where nothing was used. */
function against(value, most, unit) {
  if (!value) return "";
  if (!most) return unit(value);
  const [whole, word = ""] = unit(most).split(" ");
  return `${unit(value).split(" ")[0]} of ${whole} ${word}`.trim();
}

// ── who is next ───────────────────────────────────────────────────────────────────────────────

/** The next speakers in a sentence: claims first, then the ring's next. */
export function nextInWords(channel) {
  const { claims, next, holder, ring } = channel;
  if (claims.length) {
    const [first, ...others] = claims;
    const then = others.map(({ agent, reason }) => `${agent}, ${reason}`).join("; ");
    return `Next: ${first.agent}, ${first.reason}${then ? `; then ${then}` : ""}`;
  }
  const selector = ring.find((agent) => isSelector(channel, agent));
  if (selector && holder) return holder === selector ? "" : `Next: ${selector} chooses the next speaker`;
  return next && next !== holder && ring.length > 1 ? `Next: ${next}, by the order of the ring` : "";
}

/** Whether a member chooses the next speaker of a channel. Names differ by more than their case. */
export function isSelector({ config }, agent) {
  return config.speakerOrder === "selector" && config.selector.toLowerCase() === agent.toLowerCase();
}

/** Why the holder has the turn. */
export function becauseInWords({ holder, grantedBecause, choosing }) {
  if (!holder || choosing || !grantedBecause) return "";
  return grantedBecause === "ring" ? "by the order of the ring" : grantedBecause;
}

// ── time ──────────────────────────────────────────────────────────────────────────────────────

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
  if (left.seconds <= 0) return channel.waiting?.byHuman ? "going on" : "timeout reached";
  return `${clockFace(left.seconds)} ${untilWhat(channel)}`;
}

function untilWhat({ stopping, waiting }) {
  if (stopping) return "to stop";
  if (waiting?.byHuman) return "until the turn goes on by itself";
  return waiting ? "until the wait times out" : "until timeout";
}

function clockFace(seconds) {
  if (seconds >= 3600) return span(seconds);
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

// ── requests ──────────────────────────────────────────────────────────────────────────────────

/** Await a request, then return a `seq` at which its effect is in the log for certain. */
export async function confirmed(asking) {
  await asking;
  return get("/api/health");
}

/** Change a turn: pass, resume or override. */
export function turn(channel, act, label, body = {}) {
  return store.act(`turn:${channel}`, label, () => post(path`/api/channels/${channel}/turn/${act}`, body));
}
