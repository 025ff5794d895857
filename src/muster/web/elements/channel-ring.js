// The ring of a channel: the members in turn order, the turn holder and its reason, the next speakers, and the time
// until the timeout.

import {
  becauseInWords,
  countdown,
  isSelector,
  nextInWords,
  progress,
  stateOf,
  timeLeft,
  turn,
} from "../channels.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show, svg } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const SIZE = 320;
const MIDDLE = SIZE / 2;
const RADIUS = 118;
const FACES_MAX = 14; // with more members, each is drawn as a dot
const ARC = 2 * Math.PI * 27;
const URGENT = 1 / 3; // part of the time left below which the arc is red

class ChannelRing extends Part {
  start() {
    this.classList.add("panel");
    this.picture = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "ring", role: "img" });
    this.said = h("p", { class: "countdown", "aria-hidden": "true" });
    this.because = h("p", { class: "because" });
    this.next = h("p", { class: "upcoming" });
    this.why = h("p", { class: "wait" });
    this.progress = h("ul", { class: "progress muted" });
    this.error = errorLine();
    this.acts = {
      pass: button("Pass the turn", "Ends the turn and gives it to the next member", () =>
        turn(this.channel, "pass", "Passing the turn", {
          agent: this.holder,
          epoch: this.epoch,
          reason: "passed by a person",
        }),
      ),
      resume: button("Resume the turn", "Ends the wait; the turn continues with its remaining time", () =>
        turn(this.channel, "resume", "Resuming the turn", { agent: this.holder, epoch: this.epoch }),
      ),
      take: button(
        "Take the turn away",
        "Stops the agent's work and gives the turn to the next member. The agent speaks again when something new is said, or when you choose it",
        () => turn(this.channel, "override", "Taking the turn away", { agent: this.holder, to: "QUEUED" }),
      ),
    };
    this.replaceChildren(
      h("h2", { text: "Turns" }),
      this.picture,
      this.said,
      this.because,
      this.why,
      this.next,
      this.progress,
      h("div", { class: "row acts", data: { acts: "" } }, ...Object.values(this.acts)),
      this.error,
    );
    this.watch([`channel:${this.channel}`, "agents", "pending", "costs"], () => this.#paint());
    this.tick(() => this.#paintTime());
    this.actKey("p", "Pass the turn", () => (this.holder ? this.acts.pass.click() : false));
  }

  get state() {
    return store.channel(this.channel);
  }

  get holder() {
    return this.state?.holder ?? null;
  }

  get epoch() {
    return this.state.epoch;
  }

  #paint() {
    const { state } = this;
    if (!state) return;
    this.#paintRing(state);
    this.#paintWords(state);
    const pending = store.pending.get(`turn:${this.channel}`);
    setHidden(this.acts.pass, !state.holder || Boolean(state.waiting));
    setHidden(this.acts.resume, !state.waiting || state.waiting.approval); // the approval's answer resumes it
    setHidden(this.acts.take, !state.holder);
    for (const each of Object.values(this.acts)) setAttribute(each, "aria-disabled", pending ? "true" : null);
    show(this.error, store.failed.get(`turn:${this.channel}`));
    this.#paintTime(pending);
  }

  #paintWords(state) {
    const because = becauseInWords(state);
    show(this.because, because && `${state.holder} speaks: ${because}`);
    show(this.next, nextInWords(state));
    const why = waitInWords(state.waiting);
    show(this.why, why);
    setAttribute(this.why, "title", why || null);
    const lines = progress(state);
    setHidden(this.progress, !lines.length);
    keyed(
      this.progress,
      lines.map((text, index) => ({ text, index })),
      ({ index }) => index,
      () => h("li"),
      (item, { text }) => setText(item, text),
    );
  }

  /** Redrawn only after a change of members or states; the countdown is painted separately. */
  #paintRing(state) {
    const looks = JSON.stringify([
      state.members.map(({ agent, state: now, present }) => [agent, now, present]),
      state.next,
      state.claims,
      state.config.speakerOrder,
      state.config.selector,
    ]);
    if (this.looks === looks) return;
    this.looks = looks;
    const places = state.members.map((member, index) => placed(member, index, state));
    this.arc = svg("circle", { r: 27, class: "arc", "stroke-dasharray": ARC, transform: "rotate(-90)" });
    const middle = svg(
      "text",
      { x: MIDDLE, y: MIDDLE, class: "middle" },
      short(state.holder ?? stateOf(state).short, 20),
    );
    this.picture.replaceChildren(
      svg("circle", { cx: MIDDLE, cy: MIDDLE, r: RADIUS, class: "track" }),
      ...places,
      middle,
    );
    this.picture.querySelector("[data-holder]")?.append(this.arc);
    setAttribute(this.picture, "aria-label", described(state));
  }

  #paintTime(pending = store.pending.get(`turn:${this.channel}`)) {
    const { state } = this;
    if (!state) return;
    setText(this.said, pending ? `${pending.label} …` : countdown(state));
    const left = timeLeft(state);
    if (!left || !this.arc) return;
    this.arc.setAttribute("stroke-dashoffset", String(ARC * (1 - left.part)));
    this.arc.classList.toggle("urgent", left.part < URGENT && !state.waiting);
  }
}

const button = (label, title, run) => pushButton(label, run, { title });

/** The reason of a wait, and what ends it. */
function waitInWords(waiting) {
  if (!waiting) return "";
  if (waiting.byHuman) return "Paused: you interrupted it.";
  if (waiting.approval) return "Waiting for your approval.";
  const ends =
    waiting.awaits === "person" ? "Your message is the answer." : "Resume the turn to end the wait.";
  return `Waiting: ${waiting.reason} (${ends})`;
}

/** A member on the ring: the first at the top, the others clockwise. */
function placed(member, index, state) {
  const { members } = state;
  const angle = (2 * Math.PI * index) / members.length - Math.PI / 2;
  const x = MIDDLE + RADIUS * Math.cos(angle);
  const y = MIDDLE + RADIUS * Math.sin(angle);
  const holds = member.state === "ACTIVE" || member.state === "WAITING";
  const small = members.length > FACES_MAX && !holds;
  const group = svg("g", {
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
    class: "place",
    "data-state": member.state,
  });
  if (!member.present) group.setAttribute("data-away", "");
  if (holds) group.setAttribute("data-holder", "");
  group.append(
    svg("title", {}, `${index + 1}. ${member.agent}, ${member.state}`),
    svg("circle", { r: small ? 7 : 23, class: "seat" }),
  );
  if (!small) group.append(portrait(member), svg("text", { y: 38, class: "who" }, short(member.agent)));
  const mark = markOf(member, holds, state);
  if (mark) group.append(svg("text", { y: holds ? -33 : -28, class: "next" }, mark));
  return group;
}

/** The word above a face: its claim, `next` by the ring, or its part. */
function markOf({ agent }, holds, state) {
  const place = state.claims.findIndex((claim) => claim.agent === agent);
  if (place === 0) return "next";
  if (place > 0) return state.claims[place].claim === "hand" ? "hand up" : `${place + 1}. next`;
  if (isSelector(state, agent)) return "selector";
  if (state.config.speakerOrder === "selector" || state.claims.length || holds) return "";
  return state.members.length > 1 && state.next === agent ? "next" : "";
}

function portrait(member) {
  const picture = face(store.agents.get(member.seat) ?? { seat: member.seat, name: member.agent });
  for (const [name, value] of Object.entries({ x: -20, y: -20, width: 40, height: 40 }))
    picture.setAttribute(name, value);
  return picture;
}

const short = (name, most = 12) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** The ring in words, for screen readers. */
function described(state) {
  const order = state.ring.length
    ? `In order: ${state.members.map(({ agent, state: now }) => `${agent} ${now}`).join(", ")}.`
    : "";
  return `${stateOf(state).long} ${order}`;
}

customElements.define("channel-ring", ChannelRing);
