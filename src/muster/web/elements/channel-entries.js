// Entries of a channel's thread, made of events: messages, notices, and thin lines for changes of the turn.

import { timeOfDay } from "../clock.js";
import { h, pushButton, setText } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { face } from "./agent-face.js";
import { fileList } from "./file-tray.js";

/** The events that a thread is made of. */
export const TYPES =
  "user_message,agent_message,announcement,state_transition,member_joined,member_left,speaker_chosen,turn_claimed,channel_rested,channel_roused,channel_archived,channel_restored,warning_logged";
const LONG_LINES = 20;
const LONG_CHARS = 2000;
const QUOTE_CHARS = 120;
const COPIED_MS = 1500;
const SILENT_ENDS = {
  // ends without a notice of their own
  restAfterIdleRounds: "resting: every member passed",
  nothingNew: "resting: nothing new for any member",
};
const WAITS = {
  human_interrupt: (event) => `${event.agentId} was interrupted by a person`,
  approval_requested: (event) => `${event.agentId} is waiting for an approval`,
};

const MAKERS = {
  user_message: (event) => said(event, true),
  agent_message: (event) => said(event, false),
  announcement: (event) => note(event, "announced"),
  warning_logged: (event) => note(event, "warning"),
  member_joined: (event) => line(event, `${named(event.seat)} joined`),
  member_left: (event) =>
    line(event, `${named(event.seat)} left${event.reason ? `: ${event.reason.replaceAll("_", " ")}` : ""}`),
  speaker_chosen: (event) =>
    line(
      event,
      Number.isInteger(event.chosen)
        ? `${named(event.seat)} chose ${named(event.chosen)}`
        : `${named(event.seat)} chose nobody`,
    ),
  turn_claimed: (event) =>
    event.claim === "hand" ? line(event, `${named(event.seat)} raised its hand`) : null,
  channel_rested: (event) => {
    const text = SILENT_ENDS[event.limit ?? "restAfterIdleRounds"];
    return text ? line(event, text) : null;
  },
  channel_roused: (event) => line(event, "no longer resting"),
  channel_archived: (event) => line(event, "archived"),
  channel_restored: (event) => line(event, "brought back"),
  state_transition: (event) => (event.machine === "turns" ? ofTurn(event) : null),
};

/** The entry of an event, or null. */
export const entry = (event) => MAKERS[event.type]?.(event) ?? null;

/** Speaker and text of a message or notice, or null for other events. */
export function words(event) {
  if (event.type === "user_message") return { speaker: event.speakerName, text: event.text };
  if (event.type === "agent_message")
    return { speaker: event.agentName, text: event.content.map(({ text }) => text).join("\n") };
  return event.type === "announcement" ? { speaker: "muster", text: event.text } : null;
}

/** A message in one line: “pm: The plan is …”. */
export const quoted = ({ speaker, text }) => `${visible(speaker, 60)}: ${visible(text.trim(), QUOTE_CHARS)}`;

function ofTurn(event) {
  const { agentId, to, from, epoch, reason, trigger } = event;
  if (to === "ACTIVE" && from !== "WAITING") {
    if (trigger === "selector_asked")
      return line(event, `turn ${epoch}: ${agentId} is asked who speaks next`);
    const why = reason && reason !== "ring" ? `, ${reason}` : "";
    return line(event, `turn ${epoch}: ${agentId}${why}`, why ? "" : "turn");
  }
  if (to === "WAITING")
    return line(event, WAITS[trigger]?.(event) ?? `${agentId} is waiting${reason ? `: ${reason}` : ""}`);
  if (trigger === "human_override" && to === "QUEUED" && from !== "IDLE")
    return line(event, `turn ${epoch} was taken away from ${agentId}`);
  return from === "WAITING" && to === "ACTIVE" ? line(event, `${agentId} resumed`) : null;
}

const named = (seat) => store.agents.get(seat)?.id ?? `seat ${seat}`;
const time = (event) =>
  h("time", {
    class: "age",
    datetime: event.ts,
    text: timeOfDay(event.ts),
    title: new Date(event.ts).toLocaleString(),
  });

function said(event, human) {
  const { speaker, text } = words(event);
  const agent = human ? null : store.agents.get(event.seat);
  const body = h("div", { class: "text" });
  if (text) showMarkdown(body, text);
  const item = h(
    "article",
    {
      class: "said",
      tabindex: "-1",
      data: { seq: event.seq, day: dayOf(event), speaker, ...(human ? { human: "" } : {}) },
    },
    agent ? face(agent) : h("span", { class: "face human", "aria-hidden": "true", text: "●" }),
    h(
      "header",
      {},
      h("strong", { text: speaker }),
      human && event.mode ? h("span", { class: "badge", text: event.mode }) : null,
      h("a", { class: "permalink", href: link("channel", event.channel, String(event.seq)) }, time(event)),
      h("span", { class: "age delivery" }),
      replyButton(event),
      copyButton(event),
    ),
    event.replyTo ? quote(event.replyTo) : null,
    text ? body : null,
    event.files?.length ? fileList(event.files) : null,
  );
  if (text.length > LONG_CHARS || text.split("\n").length > LONG_LINES) fold(item, body);
  return item;
}

function replyButton(event) {
  const { speaker } = words(event);
  const reply = ({ target }) =>
    target.dispatchEvent(
      new CustomEvent("reply", { bubbles: true, detail: { seq: event.seq, ...words(event) } }),
    );
  return pushButton("Reply", reply, {
    class: "quiet reply",
    data: { acts: "" },
    "aria-label": `Reply to ${speaker}`,
  });
}

/** Copies the text of a message, as it was written. */
function copyButton(event) {
  const { speaker, text } = words(event);
  const copy = async ({ currentTarget }) => {
    await navigator.clipboard.writeText(text);
    setText(currentTarget, "Copied");
    setTimeout(() => setText(currentTarget, "Copy"), COPIED_MS);
  };
  if (!navigator.clipboard || !text) return null; // it is missing on plain HTTP outside of localhost
  return pushButton("Copy", copy, { class: "quiet reply", "aria-label": `Copy the message of ${speaker}` });
}

/** A line above the messages that nobody has seen. */
export const newLine = (count) =>
  h("p", {
    class: "line new",
    text: `${count} new`,
    role: "separator",
    "aria-label": `${count} new messages`,
  });

/** The line of the original above a reply; the thread fills it in. */
function quote(seq) {
  const show = ({ currentTarget }) =>
    currentTarget.dispatchEvent(new CustomEvent("jump", { bubbles: true, detail: { seq } }));
  return pushButton("↪ an earlier message", show, {
    class: "quote",
    title: "Go to the original",
    data: { of: seq },
  });
}

function fold(item, body) {
  body.classList.add("folded");
  const more = h("button", { type: "button", class: "quiet", text: "Show all", "aria-expanded": "false" });
  more.addEventListener("click", () => {
    const open = !body.classList.toggle("folded");
    setText(more, open ? "Show less" : "Show all");
    more.setAttribute("aria-expanded", String(open));
  });
  item.append(more);
}

const note = (event, kind) =>
  h(
    "p",
    { class: "note", tabindex: "-1", data: { kind, seq: event.seq, day: dayOf(event) } },
    h("span", { text: event.text }),
    time(event),
  );
/** A thin line. Of plain turns in a row only the last is shown, and none before its own message: see styles/channel.css. */
const line = (event, text, kind = "") =>
  h("p", { class: `line ${kind}`.trim(), data: { seq: event.seq, day: dayOf(event) } }, h("span", { text }));

const dayOf = ({ ts }) => new Date(ts).toDateString();

/** The line between two days. */
export const dayLine = (entry) =>
  h(
    "p",
    { class: "line day", data: { seq: entry.dataset.seq, day: entry.dataset.day } },
    h("span", { text: dayText(entry.dataset.day) }),
  );

function dayText(day) {
  const then = new Date(day);
  const today = new Date().toDateString();
  const yesterday = new Date(Date.now() - 86_400_000).toDateString();
  if (day === today) return "Today";
  if (day === yesterday) return "Yesterday";
  return then.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}
