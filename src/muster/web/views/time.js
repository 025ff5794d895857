// Time: the timeline, the live log, the state diagrams, and the team at any moment of the past.
//
// #/time is the present, #/time/4711 the moment after event 4711. The URL is updated without a new view, so that the
// timeline keeps its position and zoom.

import "../elements/live-log.js";
import "../elements/state-diagrams.js";
import "../elements/team-then.js";
import "../elements/time-line.js";
import { h, pushButton, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { patiently } from "../past.js";
import { link } from "../router.js";

const STEP = 16; // of 1000: the whole takes half a minute
const STEP_MS = 480;

class TimeView extends Part {
  #asked = 0;

  start() {
    this.line = h("time-line", { class: "panel" });
    this.past = h("team-then", { class: "panel", hidden: true });
    this.diagrams = h("state-diagrams", { class: "panel" });
    this.log = h("live-log", { class: "panel" });
    this.when = h("p", { class: "when", role: "status" });
    this.back = button("Back to now", () => this.choose(null));
    this.before = button("← previous event", () => this.choose({ seq: this.wanted - 1 }));
    this.after = button("next event →", () => this.choose({ seq: this.wanted + 1 }));
    this.play = pushButton("", () => this.#toggle(), { class: "play" });
    this.place = h("input", {
      type: "range",
      min: "0",
      max: "1000",
      value: "1000",
      "aria-label": "Moment of the shown time",
      on: { input: () => this.#slide() },
    });
    this.#paintPlay();
    this.replaceChildren(
      h("div", { class: "head" }, h("h1", { text: "Time" }), this.when, this.before, this.after, this.back),
      this.line,
      h("div", { class: "replay" }, this.play, this.place),
      this.past,
      h("div", { class: "pair" }, this.diagrams, this.log),
    );
    this.addEventListener("choose", ({ detail }) => this.choose(detail));
    this.addEventListener("lanes", () => this.diagrams.showBusy(this.line.busy));
    this.until(() => this.#stop());
    this.key(" ", "Play or stop the replay", () => this.#toggle());
    this.key("b", "Back to now", () => this.choose(null));
    this.key(",", "Previous event", () => (this.moment ? this.before.click() : false));
    this.key(".", "Next event", () => (this.moment ? this.after.click() : false));
    const [seq] = this.params;
    this.choose(/^\d{1,15}$/.test(seq ?? "") ? { seq: Number(seq) } : null);
  }

  /** Show the team after an event ({seq}), at a time ({at}), or now (null). */
  async choose(moment) {
    const asked = ++this.#asked;
    if (moment && moment.seq < 0) return;
    if (!moment) return this.#show(null);
    this.wanted = moment.seq;
    setText(this.when, "Loading the team at that moment …");
    const where = moment.seq === undefined ? { at: new Date(moment.at).toISOString() } : { seq: moment.seq };
    let trouble = "";
    const state = await patiently(`/api/state?${new URLSearchParams(where)}`, (problem) => {
      trouble = problem.message;
      setText(this.when, trouble);
    });
    if (asked !== this.#asked || !this.isConnected) return;
    if (state || !this.moment) this.#show(state);
    if (!state) this.wanted = this.moment?.seq;
    if (!state) setText(this.when, trouble);
  }

  // ── replay ───────────────────────────────────────────────────────────────────────────────────

  /** Play the shown time in half a minute, from the chosen moment on; at its end, from its beginning. */
  #toggle() {
    if (this.playing) return this.#stop();
    if (Number(this.place.value) >= 1000) this.place.value = "0";
    this.window = this.line.shown;
    this.playing = true;
    this.#paintPlay();
    this.#playOn();
  }

  async #playOn() {
    while (this.playing && this.isConnected) {
      const began = performance.now();
      await this.#slide(true);
      if (Number(this.place.value) >= 1000) return this.#stop();
      await new Promise((done) => setTimeout(done, Math.max(60, STEP_MS - (performance.now() - began))));
      if (this.playing) this.place.value = String(Number(this.place.value) + STEP);
    }
  }

  #stop() {
    if (!this.playing) return;
    this.playing = false;
    this.#paintPlay();
  }

  #slide(isPlaying = false) {
    if (!isPlaying) this.#stop();
    const { from, to } = isPlaying ? this.window : this.line.shown;
    const part = Number(this.place.value) / 1000;
    return this.choose(part >= 1 ? null : { at: from + (to - from) * part });
  }

  #paintPlay() {
    setText(this.play, this.playing ? "❚❚ Stop" : "▶ Replay");
  }

  #show(state) {
    this.moment = state;
    this.wanted = state?.seq;
    history.replaceState(null, "", state ? link("time", state.seq) : link("time"));
    for (const each of [this.before, this.after, this.back]) setHidden(each, !state);
    setText(
      this.when,
      state
        ? `The team at ${new Date(state.now).toLocaleString()}, after event ${state.seq}`
        : "Now. Choose a moment on the timeline, or an event in the log, to see the team at that time.",
    );
    this.toggleAttribute("data-past", Boolean(state));
    setHidden(this.past, !state);
    for (const part of [this.past, this.line, this.diagrams, this.log]) part.show(state);
  }
}

const button = (label, run) => pushButton(label, run, { hidden: true });

customElements.define("time-view", TimeView);
