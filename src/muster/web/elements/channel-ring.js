// The ring of a channel as a strip: the members in turn order, the turn holder with its time, the next speakers, and
// the controls of the turn.
//
// The order changes by dragging a member (mouse, pen or touch), or by the arrow keys on it. While a drag or its request
// lasts, the strip shows the new order; afterwards it shows the server's.

import { path, put } from "../api.js";
import { done, goOn, needKey, needs } from "../attention.js";
import {
  becauseInWords,
  confirmed,
  countdown,
  isSelector,
  nextInWords,
  progress,
  stateOf,
  timeLeft,
  turn,
} from "../channels.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const FACES_MAX = 14; // of more members, only the holder has a face
const URGENT = 1 / 3; // part of the time left below which its line is red
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

class ChannelRing extends Part {
  #dragged = null; // {agent, order} during a drag
  #asked = null; // the order of a request that is not confirmed yet

  start() {
    this.classList.add("panel");
    this.list = h("ol", {
      class: "ring",
      on: {
        pointerdown: (event) => this.#grab(event),
        pointermove: (event) => this.#drag(event),
        pointerup: () => this.#drop(),
        pointercancel: () => this.#letGo(),
        keydown: (event) => this.#moveByKey(event),
      },
    });
    this.said = h("span", { class: "countdown", "aria-hidden": "true" });
    this.because = h("span", { class: "because" });
    this.next = h("span", { class: "upcoming" });
    this.why = h("p", { class: "wait" });
    this.progress = h("ul", { class: "progress muted" });
    this.error = errorLine();
    this.acts = {
      pass: button(
        "Pass the turn",
        "Ends the turn and gives it to the next member",
        () =>
          turn(this.channel, "pass", "Passing the turn", {
            agent: this.holder,
            epoch: this.epoch,
            reason: "passed by a person",
          }),
        { data: { acts: "operator" } },
      ),
      resume: button("Resume the turn", "Ends the wait; the turn continues with its remaining time", () =>
        turn(this.channel, "resume", "Resuming the turn", { agent: this.holder, epoch: this.epoch }),
      ),
      take: button(
        "Take the turn away",
        "Stops the agent's work and gives the turn to the next member. The agent speaks again when something new is said, or when you choose it",
        () => turn(this.channel, "override", "Taking the turn away", { agent: this.holder, to: "QUEUED" }),
      ),
      more: button("Go on for 10 turns", "Lets it go on beyond the limit that ended it", () =>
        goOn(this.question),
      ),
      end: button("End it", "Leaves it at that. A message starts it again", () => done(this.question)),
    };
    this.replaceChildren(
      h("h2", { text: "Turns" }),
      this.list,
      h("div", { class: "row acts", data: { acts: "" } }, ...Object.values(this.acts)),
      h("p", { class: "words" }, this.said, this.because, this.next),
      this.why,
      this.progress,
      this.error,
    );
    this.watch([`channel:${this.channel}`, "team", "agents", "pending", "costs"], () => this.#paint());
    this.tick(() => this.#paintTime());
    this.actKey("p", "Pass the turn", () => (this.holder ? this.acts.pass.click() : false));
  }

  get state() {
    return store.channel(this.channel);
  }

  get holder() {
    return this.state?.holder ?? null;
  }

  /** The need of an answer whether a channel goes on that a limit has ended; undefined if there is none. */
  get question() {
    return needs().find(({ channel, canGoOn }) => canGoOn && channel === this.channel);
  }

  get epoch() {
    return this.state.epoch;
  }

  get acting() {
    return `members:${this.channel}`;
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
    const { question } = this;
    setHidden(this.acts.more, !question);
    setHidden(this.acts.end, !question);
    const asked = question && needKey(question);
    const isBusy = pending || store.pending.has(asked);
    for (const each of Object.values(this.acts)) setAttribute(each, "aria-disabled", isBusy ? "true" : null);
    show(this.error, store.failed.get(`turn:${this.channel}`) ?? store.failed.get(asked));
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

  #paintRing(state) {
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    const members = this.#ordered(state);
    keyed(
      this.list,
      members,
      ({ agent }) => agent,
      (member) => placed(member),
      (place, member) => paintPlace(place, member, state),
    );
    if (focused?.isConnected && document.activeElement !== focused) focused.focus(); // its place was moved
    setAttribute(this.list, "data-many", members.length > FACES_MAX ? "" : null);
    setAttribute(this.list, "aria-label", described(state));
  }

  #paintTime(pending = store.pending.get(`turn:${this.channel}`)) {
    const { state } = this;
    if (!state) return;
    show(this.said, pending ? `${pending.label} …` : countdown(state));
    const left = timeLeft(state);
    const place = this.list.querySelector("[data-holder]");
    if (!left || !place) return;
    place.style.setProperty("--left", left.part);
    place.classList.toggle("urgent", left.part < URGENT && !state.waiting);
  }

  // ── the order ────────────────────────────────────────────────────────────────────────────────

  #ordered({ members }) {
    const order = this.#dragged?.order ?? this.#asked;
    if (!order) return members;
    return [...members].sort((a, b) => order.indexOf(a.agent) - order.indexOf(b.agent));
  }

  get #ring() {
    return this.#asked ?? this.state?.ring ?? [];
  }

  /** The list captures the pointer, because the place under it moves in the page. */
  #grab(event) {
    const place = event.target.closest(".place");
    if (!place || event.button !== 0 || !store.operates || store.pending.has(this.acting)) return;
    this.list.setPointerCapture(event.pointerId);
    this.#dragged = { agent: place.dataset.agent, order: [...this.#ring] };
    this.#markDragged();
  }

  #drag(event) {
    if (!this.#dragged) return;
    const { agent, order } = this.#dragged;
    const others = [...this.list.children].filter(({ dataset }) => dataset.agent !== agent);
    const before = others.filter((place) => isBefore(place.getBoundingClientRect(), event)).length;
    const moved = order.filter((each) => each !== agent);
    moved.splice(before, 0, agent);
    if (moved.join("\n") === order.join("\n")) return;
    this.#dragged.order = moved;
    this.#paint();
  }

  #drop() {
    if (!this.#dragged) return;
    const { order } = this.#dragged;
    this.#dragged = null;
    this.#markDragged();
    this.#order(order);
  }

  #letGo() {
    this.#dragged = null;
    this.#markDragged();
    this.#paint();
  }

  #markDragged() {
    for (const place of this.list.children)
      place.classList.toggle("dragged", place.dataset.agent === this.#dragged?.agent);
  }

  #moveByKey(event) {
    const by = STEPS[event.key];
    const agent = event.target.closest(".place")?.dataset.agent;
    if (!by || !agent || !store.operates) return;
    event.preventDefault();
    const order = [...this.#ring];
    const from = order.indexOf(agent);
    const to = from + by;
    if (to < 0 || to >= order.length) return;
    order.splice(from, 1);
    order.splice(to, 0, agent);
    this.#order(order, `${agent} is number ${to + 1} of ${order.length}.`);
  }

  async #order(agents, told = "") {
    if (agents.join("\n") === this.state?.ring.join("\n")) return this.#paint();
    this.#asked = agents;
    this.#paint();
    const done = await store.act(this.acting, "Changing the order", () =>
      confirmed(put(path`/api/channels/${this.channel}/ring`, { agents })),
    );
    this.#asked = null;
    this.#paint();
    if (done && told) document.getElementById("notices").textContent = told;
  }
}

/** Whether a place in the strip, which may have several rows, is before the pointer. */
const isBefore = ({ top, bottom, left, width }, { clientX, clientY }) =>
  bottom < clientY || (top <= clientY && left + width / 2 < clientX);

const button = (label, title, run, more = {}) => pushButton(label, run, { title, ...more });

/** The reason of a wait, and what ends it. */
function waitInWords(waiting) {
  if (!waiting) return "";
  if (waiting.byHuman) return "Paused: you interrupted it.";
  if (waiting.approval) return "Waiting for your approval.";
  const ends =
    waiting.awaits === "person" ? "Your message is the answer." : "Resume the turn to end the wait.";
  return `Waiting: ${waiting.reason} (${ends})`;
}

const handleOf = (agent) =>
  pushButton("", () => {}, {
    "aria-label": `Move ${agent}`,
    title: "Drag to change the order, or press the arrow keys",
  });

function placed({ agent, seat }) {
  const place = h("li", { class: "place", data: { agent } });
  place.mark = h("span", { class: "next" });
  place.handle = !store.operates ? h("span", { class: "still" }) : handleOf(agent);
  place.handle.append(
    face(store.agents.get(seat) ?? { seat, name: agent }),
    h("span", { class: "who", text: agent }),
    place.mark,
  );
  place.append(place.handle);
  return place;
}

function paintPlace(place, member, state) {
  const holds = member.state === "ACTIVE" || member.state === "WAITING";
  setAttribute(place, "data-state", member.state);
  setAttribute(place, "data-away", member.present ? null : "");
  setAttribute(place, "data-holder", holds ? "" : null);
  setText(place.mark, markOf(member, holds, state));
}

/** The word beside a name: its claim, `next` by the ring, or its part. */
function markOf({ agent }, holds, state) {
  const place = state.claims.findIndex((claim) => claim.agent === agent);
  if (place === 0) return "next";
  if (place > 0) return state.claims[place].claim === "hand" ? "hand up" : `${place + 1}. next`;
  if (isSelector(state, agent)) return "selector";
  if (state.config.speakerOrder === "selector" || state.claims.length || holds) return "";
  return state.members.length > 1 && state.next === agent ? "next" : "";
}

/** The ring in words, for screen readers. */
function described(state) {
  const order = state.ring.length
    ? `In order: ${state.members.map(({ agent, state: now }) => `${agent} ${now}`).join(", ")}.`
    : "";
  return `${stateOf(state).long} ${order}`;
}

customElements.define("channel-ring", ChannelRing);
