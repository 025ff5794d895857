// The messages of a channel, with announcements and a thin line at each change of the turn.

import { get } from "../api.js";
import { timeOfDay } from "../clock.js";
import { h, setHidden, setText } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const SHOWN = 120;
const SHOWN_MAX = 1000;
const NEAR_PX = 60; // scrolled this close to the end, the thread follows new messages
const TYPES =
  "user_message,agent_message,announcement,state_transition,member_joined,member_left,channel_rested,channel_roused,warning_logged";
const AGAIN_MS = 1000; // retry interval while the server is unreachable
const LONG_LINES = 20;
const LONG_CHARS = 2000;

class ChannelThread extends Part {
  #known = 0;
  #missed = 0;

  start() {
    this.classList.add("panel");
    this.log = h("div", {
      class: "log",
      role: "log",
      "aria-label": `Messages in ${this.channel}`,
      tabindex: "0",
      on: { scroll: () => this.#atEnd && this.#seen() },
    });
    this.empty = h("p", { class: "muted", text: "No messages yet.", hidden: true });
    this.earlier = h("button", {
      type: "button",
      class: "quiet",
      text: "Load earlier messages",
      hidden: true,
      on: { click: () => this.#load(SHOWN_MAX) },
    });
    this.news = h("button", {
      type: "button",
      class: "news",
      hidden: true,
      on: { click: () => this.#toEnd() },
    });
    this.replaceChildren(this.earlier, this.empty, this.log, this.news);
    this.listen((events) => this.#hear(events));
    this.watch(`channel:${this.channel}`, () => this.#paintDelivery());
    this.watch("events", () => store.events.length === 0 && this.#known && this.#load(SHOWN)); // another log
    this.#load(SHOWN);
  }

  async #load(limit) {
    const where = new URLSearchParams({ channel: this.channel, types: TYPES, limit });
    const page = await get(`/api/log?${where}`).catch(() => null);
    if (!this.isConnected) return;
    if (!page) return void setTimeout(() => this.#load(limit), AGAIN_MS);
    const missed = store.events.filter((event) => event.channel === this.channel && event.seq > page.after);
    this.#known = 0;
    this.log.replaceChildren();
    this.#add([...page.events, ...missed]);
    setHidden(this.earlier, limit === SHOWN_MAX || page.events.length < limit);
    setHidden(this.empty, this.log.childElementCount > 0);
    this.#toEnd();
  }

  #hear(events) {
    const ours = events.filter((event) => event.channel === this.channel);
    if (!this.#known || !ours.length) return;
    const follow = this.#atEnd;
    const added = this.#add(ours);
    if (!added) return;
    setHidden(this.empty, true);
    if (follow) return this.#toEnd();
    this.#missed += added;
    setText(this.news, `${this.#missed} new ↓`);
    setHidden(this.news, false);
  }

  /** Append the new events that have an entry; returns their number. */
  #add(events) {
    const fresh = events.filter((event) => event.seq > this.#known);
    this.#known = Math.max(this.#known, fresh.at(-1)?.seq ?? 0, 1);
    const entries = fresh.map(entry).filter(Boolean);
    this.log.append(...entries);
    while (this.log.childElementCount > SHOWN_MAX * 1.2) this.log.firstElementChild.remove();
    this.#paintDelivery();
    return entries.length;
  }

  get #atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR_PX;
  }

  #toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
    this.#seen();
  }

  #seen() {
    this.#missed = 0;
    setHidden(this.news, true);
  }

  /** Update the delivery state of the newest messages. */
  #paintDelivery() {
    const members = store.channel(this.channel)?.members ?? [];
    for (const said of [...this.log.querySelectorAll(".said")].slice(-20)) {
      const others = members.filter(
        ({ agent }) => agent !== said.dataset.speaker || said.dataset.human !== undefined,
      );
      setText(said.querySelector(".delivery"), delivery(others, Number(said.dataset.seq)));
    }
  }
}

function delivery(others, seq) {
  if (!others.length) return "";
  const read = others.filter((each) => each.read >= seq).length;
  const handed = others.filter((each) => each.delivered >= seq).length;
  if (read) return `read by ${read} of ${others.length}`;
  return handed ? `delivered to ${handed} of ${others.length}` : "accepted";
}

const ENTRIES = {
  user_message: (event) => said(event, event.speakerName, event.text, true),
  agent_message: (event) =>
    said(event, event.agentName, event.content.map(({ text }) => text).join("\n"), false),
  announcement: (event) => note(event, event.text, "announced"),
  warning_logged: (event) => note(event, event.text, "warning"),
  member_joined: (event) => line(event, `${named(event.seat)} joined`),
  member_left: (event) => line(event, `${named(event.seat)} left${event.reason ? `: ${event.reason}` : ""}`),
  channel_rested: (event) => line(event, "resting after silent rounds"),
  channel_roused: (event) => line(event, "no longer resting"),
  state_transition: (event) => {
    if (event.machine !== "turns") return null;
    if (event.to === "ACTIVE" && event.from !== "WAITING")
      return line(event, `turn ${event.epoch}: ${event.agentId}`);
    if (event.to === "WAITING")
      return line(event, `${event.agentId} is waiting${event.reason ? `: ${event.reason}` : ""}`);
    return event.from === "WAITING" && event.to === "ACTIVE" ? line(event, `${event.agentId} resumed`) : null;
  },
};

const entry = (event) => ENTRIES[event.type]?.(event) ?? null;
const named = (seat) => store.agents.get(seat)?.id ?? `seat ${seat}`;
const time = (event) =>
  h("time", {
    class: "age",
    datetime: event.ts,
    text: timeOfDay(event.ts),
    title: new Date(event.ts).toLocaleString(),
  });

function said(event, speaker, text, human) {
  const agent = human ? null : store.agents.get(event.seat);
  const body = h("div", { class: "text" });
  showMarkdown(body, text);
  const item = h(
    "article",
    { class: "said", data: { seq: event.seq, speaker, ...(human ? { human: "" } : {}) } },
    agent ? face(agent) : h("span", { class: "face human", "aria-hidden": "true", text: "●" }),
    h(
      "header",
      {},
      h("strong", { text: speaker }),
      human && event.mode ? h("span", { class: "badge", text: event.mode }) : null,
      time(event),
      h("span", { class: "age delivery" }),
    ),
    body,
  );
  if (text.length > LONG_CHARS || text.split("\n").length > LONG_LINES) fold(item, body);
  return item;
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

const note = (event, text, kind) =>
  h("p", { class: "note", data: { kind, seq: event.seq } }, h("span", { text }), time(event));
const line = (event, text) => h("p", { class: "line", data: { seq: event.seq } }, h("span", { text }));

customElements.define("channel-thread", ChannelThread);
