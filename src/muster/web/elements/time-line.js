// The timeline, drawn on a canvas: of the work, with a lane for each agent, or of the states, with a lane for each agent and
// machine. Only the visible part is painted.
//
// A click or the arrow keys choose a moment; + and - zoom, dragging pans. The log below is the accessible equivalent.

import { serverNow } from "../clock.js";
import { paletteOf, stateColour } from "../colours.js";
import { dollars } from "../costs.js";
import { h, pushButton, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { patiently } from "../past.js";
import { visible } from "../visible.js";
import { paintCosts, paintWork, toldAt, WORK_LANE, workLanes } from "../work-lane.js";

const LANE = 15;
const GAP = 3;
const BETWEEN = 9; // gap between two agents
const AXIS = 24;
const GUTTER = 168;
const GUTTER_NARROW = 104;
const NARROW = 560;
const SHORT = { identity: "id", run: "run", turns: "turn", delegation: "task" };
const MINUTE = 60_000;
const SPANS = { "5 min": 5 * MINUTE, "1 h": 60 * MINUTE, "1 day": 1440 * MINUTE, All: null };
const SPAN_MIN = 2_000;
const REPAINT_MS = 250;
const AGAIN_MS = 1_000; // minimum interval between two reloads while events arrive
const DRAG_PX = 4;
const COSTS = 40; // the height of the cost curve
const MODE = "time:mode";
const MACHINES = ["identity", "run", "turns", "delegation"];
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800,
].map((s) => s * 1000);

class TimeLine extends Part {
  #lanes = [];
  #work = null;
  #mode = localStorage.getItem(MODE) === "states" ? "states" : "work";
  #rows = [];
  #window = { length: 60 * MINUTE, to: null }; // `to` is null while following the present
  #hidden = new Set(JSON.parse(localStorage.getItem("lanes-hidden") ?? "[]"));
  #moment = null;
  #due = null;
  #asking = false;
  #again = false;

  start() {
    this.canvas = h("canvas", {
      tabindex: "0",
      role: "slider",
      "aria-label": "Timeline: choose a moment",
      "aria-valuemin": "0",
    });
    this.tall = h("div");
    this.frame = h("div", { class: "frame", on: { scroll: () => this.#paint() } }, this.canvas, this.tall);
    this.told = h("p", { class: "told muted", text: "Reading the log …" });
    this.replaceChildren(this.#toolbar(), this.frame, this.told, this.#legend());
    this.#bind();
    this.listen((events) => events.some(({ type }) => type !== "agent_output") && this.#askSoon());
    const timer = setInterval(() => document.hidden || this.#window.to !== null || this.#paint(), REPAINT_MS);
    const observer = new ResizeObserver(() => this.#paint());
    observer.observe(this.frame);
    this.until(() => {
      clearInterval(timer);
      clearTimeout(this.#due);
      observer.disconnect();
    });
    this.#ask();
  }

  /** Mark a moment in the past (a team state), or none (null). */
  show(state) {
    this.#moment = state ? { at: Date.parse(state.now), seq: state.seq } : null;
    setAttribute(this.canvas, "aria-valuenow", state?.seq ?? this.seq ?? 0);
    setAttribute(
      this.canvas,
      "aria-valuetext",
      state ? `event ${state.seq}, ${new Date(state.now).toLocaleString()}` : "now",
    );
    if (state && !this.#inside(this.#moment.at))
      this.#look({ to: this.#moment.at + this.#window.length / 2 });
    this.#tell();
    this.#paint();
  }

  /** The time that is shown, in milliseconds: for a replay of it. */
  get shown() {
    return { from: this.#from, to: Math.min(this.#to, serverNow()) };
  }

  /** Names of the lanes with a conversation at work at the shown moment. */
  get busy() {
    const seq = this.#moment?.seq ?? Infinity;
    const lanes = this.#lanes.filter(({ machine }) => machine === "delegation");
    return lanes
      .filter(({ spans }) => spans.findLast((span) => span.seq <= seq)?.state === "working")
      .map(({ name }) => name);
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("lanes", { bubbles: true }));
  }

  // ── loading ──────────────────────────────────────────────────────────────────────────

  get #to() {
    return this.#window.to ?? serverNow();
  }

  get #from() {
    return this.#to - this.#window.length;
  }

  #inside(at) {
    return at >= this.#from && at <= this.#to;
  }

  #askSoon(wait = AGAIN_MS) {
    this.#due ??= setTimeout(() => {
      this.#due = null;
      this.#ask();
    }, wait);
  }

  async #ask() {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    const width = Math.max(200, Math.round(this.frame.clientWidth - this.#gutter));
    const [from, to] = [this.#from, this.#to].map((at) => new Date(at).toISOString());
    const where = new URLSearchParams({ from, points: Math.min(4000, width) });
    if (this.#window.to !== null) where.set("to", to); // the browser's clock may be behind an event
    const answer = await patiently(`/api/timeline?${where}`, (problem) =>
      setText(this.told, problem.message),
    );
    if (answer && this.#mode === "work") {
      this.#work = await patiently(`/api/timeline/work?${where}`, () => {});
      this.dataset.work = this.#work?.lanes.length ?? 0;
    }
    this.#asking = false;
    if (!this.isConnected) return;
    if (answer) this.#take(answer);
    if (this.#again) {
      this.#again = false;
      this.#askSoon(120);
    }
  }

  #take(answer) {
    const first = this.began === undefined;
    this.began = answer.began ? Date.parse(answer.began) : null;
    // zoom to the whole life of a young team
    if (first && this.began > this.#from) this.#look({ length: (serverNow() - this.began) * 1.05 });
    this.seq = answer.seq;
    this.#lanes = answer.lanes.map((lane) => ({
      ...lane,
      spans: lane.spans.map((span) => ({ ...span, at: Date.parse(span.at) })),
    }));
    setAttribute(this.canvas, "aria-valuemax", answer.seq);
    setAttribute(this.canvas, "aria-valuenow", this.#moment?.seq ?? answer.seq);
    this.dataset.lanes = this.#lanes.length;
    if (!this.hovering) setText(this.told, this.#lanes.length ? "" : "No agents at that time.");
    this.#layOut();
    this.#tell();
    this.#paint();
  }

  // ── layout ────────────────────────────────────────────────────────────────────────

  #layOut() {
    if (this.#mode === "work") return this.#layOutWork();
    const shown = this.#lanes.filter(({ machine }) => !this.#hidden.has(machine));
    let y = AXIS;
    let last = null;
    this.#rows = shown.map((lane) => {
      const first = lane.name !== last;
      if (first && last !== null) y += BETWEEN;
      last = lane.name;
      const row = { lane, y, first };
      y += LANE + GAP;
      return row;
    });
    this.tall.style.setProperty("height", `${y + 4}px`);
  }

  #layOutWork() {
    let y = AXIS + (this.#work?.costs.length ? COSTS : 0);
    this.#rows = workLanes(this.#lanes, this.#work).map((lane) => {
      const row = { lane, y, isWork: true };
      y += WORK_LANE + GAP;
      return row;
    });
    this.tall.style.setProperty("height", `${y + 4}px`);
  }

  get #narrow() {
    return this.frame.clientWidth < NARROW;
  }

  get #gutter() {
    return this.#narrow ? GUTTER_NARROW : GUTTER;
  }

  #x(at) {
    return (
      this.#gutter + ((at - this.#from) / this.#window.length) * (this.canvas.clientWidth - this.#gutter)
    );
  }

  #at(x) {
    return this.#from + ((x - this.#gutter) / (this.canvas.clientWidth - this.#gutter)) * this.#window.length;
  }

  #look({ length = this.#window.length, to = this.#window.to }) {
    const whole = serverNow() - (this.began ?? serverNow() - 60 * MINUTE);
    length = Math.max(SPAN_MIN, Math.min(length, Math.max(whole * 1.1, 1440 * MINUTE)));
    this.#window = { length, to: to !== null && to >= serverNow() ? null : to };
    this.#markSpan();
    this.#paint();
    clearTimeout(this.#due);
    this.#due = null;
    this.#askSoon(120);
  }

  #zoom(factor, around = (this.#from + this.#to) / 2) {
    const length = this.#window.length * factor;
    if (this.#window.to === null) return this.#look({ length });
    this.#look({ length, to: around + (this.#to - around) * factor });
  }

  // ── painting ───────────────────────────────────────────────────────────────────────────────────

  #paint() {
    if (this.painting) return;
    this.painting = true;
    requestAnimationFrame(() => {
      this.painting = false;
      if (this.isConnected) this.#paintNow();
    });
  }

  #paintNow() {
    const { clientWidth: width, clientHeight: height, scrollTop } = this.frame;
    const ratio = devicePixelRatio;
    if (
      this.canvas.width !== Math.round(width * ratio) ||
      this.canvas.height !== Math.round(height * ratio)
    ) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.setProperty("width", `${width}px`);
      this.canvas.style.setProperty("height", `${height}px`);
    }
    const pen = this.canvas.getContext("2d");
    const colours = paletteOf(this);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.textBaseline = "middle";
    const ticks = this.#ticks(width);
    this.#paintGrid(pen, ticks, height, colours);
    for (const row of this.#rows) {
      const y = row.y - scrollTop;
      if (y < -WORK_LANE || y > height) continue;
      if (row.isWork) this.#paintWorkLane(pen, row, y, width, colours);
      else this.#paintLane(pen, row, y, width, colours);
    }
    if (this.#mode === "work") this.#paintCosts(pen, width, colours);
    this.#paintAxis(pen, ticks, width, colours);
    this.#paintMarks(pen, height, colours);
  }

  #paintWorkLane(pen, { lane }, y, width, colours) {
    pen.save();
    pen.beginPath();
    pen.rect(this.#gutter, y, width - this.#gutter, WORK_LANE);
    pen.clip();
    const end = Math.min(serverNow(), this.#to);
    paintWork(pen, lane, y, { x: (at) => this.#x(at), left: this.#gutter, end, colours });
    pen.restore();
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillStyle = colours.ink;
    pen.fillText(fitted(pen, lane.name, this.#gutter - 12), 4, y + WORK_LANE / 2 - 2);
  }

  /** The cost curve stays on top while the lanes scroll. */
  #paintCosts(pen, width, colours) {
    const costs = this.#work?.costs ?? [];
    if (!costs.length) return;
    pen.fillStyle = colours.card;
    pen.fillRect(0, AXIS - 4, width, COSTS);
    const total = costs.reduce((sum, { costUsd }) => sum + costUsd, 0);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colours.muted;
    pen.fillText(`cost ${dollars(total)}`, 4, AXIS + COSTS / 2 - 4, this.#gutter - 12);
    const place = { left: this.#gutter, base: AXIS + COSTS - 8, height: COSTS - 10, colours };
    paintCosts(pen, costs, { ...place, x: (at) => this.#x(at) });
  }

  #paintLane(pen, { lane, first }, y, width, colours) {
    const end = Math.min(serverNow(), this.#to);
    pen.save();
    pen.beginPath();
    pen.rect(this.#gutter, y, width - this.#gutter, LANE);
    pen.clip();
    lane.spans.forEach((span, index) => {
      const colour = stateColour(lane.machine, span.state, colours);
      const until = Math.min(lane.spans[index + 1]?.at ?? end, end);
      if (!colour || until < this.#from) return;
      const x = Math.max(this.#gutter, this.#x(span.at));
      const wide = Math.max(1.5, this.#x(until) - x);
      pen.fillStyle = colour.fill;
      pen.fillRect(x, y, wide, LANE);
      if (span.changes > 1) {
        pen.fillStyle = colours.ink;
        pen.fillRect(x, y + LANE - 2, Math.min(wide, 4), 2);
      }
      if (wide > 54) {
        pen.fillStyle = colour.ink;
        pen.font = "10px system-ui, sans-serif";
        pen.fillText(span.state, x + 5, y + LANE / 2 + 0.5, wide - 8);
      }
    });
    pen.restore();
    pen.font = first ? "600 12px system-ui, sans-serif" : "11px system-ui, sans-serif";
    pen.fillStyle = colours.ink;
    const side = this.#narrow ? 34 : 66;
    if (first) pen.fillText(fitted(pen, lane.name, this.#gutter - side - 8), 4, y + LANE / 2);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colours.muted;
    pen.fillText(
      this.#narrow ? SHORT[lane.machine] : lane.machine,
      this.#gutter - side,
      y + LANE / 2,
      side - 4,
    );
  }

  /** Axis ticks at round times, far enough apart for their labels: {step, moments}. */
  #ticks(width) {
    const step =
      STEPS.find(
        (each) => (each / this.#window.length) * (width - this.#gutter) > (each < MINUTE ? 96 : 70),
      ) ?? STEPS.at(-1);
    const offset = new Date().getTimezoneOffset() * MINUTE;
    const moments = [];
    for (let at = Math.ceil((this.#from - offset) / step) * step + offset; at < this.#to; at += step)
      moments.push(at);
    return { step, moments };
  }

  #paintGrid(pen, { moments }, height, colours) {
    pen.fillStyle = colours.line;
    pen.globalAlpha = 0.6;
    for (const at of moments) pen.fillRect(this.#x(at), AXIS - 6, 1, height);
    pen.globalAlpha = 1;
  }

  #paintAxis(pen, { step, moments }, width, colours) {
    pen.fillStyle = colours.card;
    pen.fillRect(0, 0, width, AXIS - 4);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colours.muted;
    for (const at of moments)
      if (this.#x(at) < width - 50) pen.fillText(label(at, step), this.#x(at) + 3, 10);
  }

  #paintMarks(pen, height, colours) {
    const line = (at, colour, wide) => {
      if (!this.#inside(at)) return;
      pen.fillStyle = colour;
      pen.fillRect(this.#x(at) - wide / 2, 0, wide, height);
    };
    line(serverNow(), colours.alive, 1.5);
    if (this.hovering) line(this.hovering.at, colours.muted, 1);
    if (this.#moment) line(this.#moment.at, colours.bad, 2);
  }

  // ── acting ─────────────────────────────────────────────────────────────────────────────────────

  #toolbar() {
    this.spans = Object.entries(SPANS).map(([name, length]) =>
      pushButton(
        name,
        () =>
          this.#look({
            length: length ?? (serverNow() - (this.began ?? serverNow())) * 1.02,
            to: length === null ? null : this.#window.to,
          }),
        { data: { length: length ?? "all" } },
      ),
    );
    const machines = MACHINES.map((machine) => {
      const box = h("input", { type: "checkbox", on: { change: () => this.#toggle(machine, box.checked) } });
      box.checked = !this.#hidden.has(machine);
      return h("label", {}, box, ` ${machine}`);
    });
    this.boxes = h("span", { class: "boxes" }, machines);
    this.modes = ["work", "states"].map((mode) =>
      pushButton(mode === "work" ? "Work" : "States", () => this.#chooseMode(mode), { data: { mode } }),
    );
    this.live = pushButton("Follow", () => this.#look({ to: null }));
    const tools = h(
      "div",
      { class: "row", role: "toolbar", "aria-label": "Timeline" },
      this.spans,
      pushButton("−", () => this.#zoom(2), { "aria-label": "Zoom out" }),
      pushButton("+", () => this.#zoom(0.5), { "aria-label": "Zoom in" }),
      this.live,
      h("span", { class: "shapes", role: "group", "aria-label": "What is drawn" }, this.modes),
      this.boxes,
    );
    this.#markSpan();
    this.#markMode();
    return tools;
  }

  #chooseMode(mode) {
    this.#mode = mode;
    localStorage.setItem(MODE, mode);
    this.#markMode();
    this.#layOut();
    this.#paint();
    this.#ask();
  }

  #markMode() {
    for (const each of this.modes)
      each.setAttribute("aria-pressed", String(each.dataset.mode === this.#mode));
    setHidden(this.boxes, this.#mode === "work");
    if (this.legend) setHidden(this.legend, this.#mode !== "work");
  }

  #legend() {
    const signs = [
      ["◆", "said something"],
      ["●", "was told"],
      ["▲", "asked for approval"],
      ["✗", "failed, ↻ again and again"],
      ["▬", "turn, and below it tool calls"],
    ];
    this.legend = h(
      "p",
      { class: "legend muted" },
      signs.map(([sign, means]) => h("span", {}, h("b", { text: sign }), ` ${means}`)),
    );
    setHidden(this.legend, this.#mode !== "work");
    return this.legend;
  }

  #markSpan() {
    for (const each of this.spans)
      each.setAttribute("aria-pressed", String(Number(each.dataset.length) === this.#window.length));
    this.live?.setAttribute("aria-pressed", String(this.#window.to === null));
  }

  #toggle(machine, shown) {
    shown ? this.#hidden.delete(machine) : this.#hidden.add(machine);
    localStorage.setItem("lanes-hidden", JSON.stringify([...this.#hidden]));
    this.#layOut();
    this.#paint();
  }

  #bind() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.#drag(event));
    canvas.addEventListener("pointermove", (event) => this.#hover(event));
    canvas.addEventListener("pointerleave", () => {
      this.hovering = null;
      setText(this.told, "");
      this.#paint();
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.shiftKey) return; // without a modifier the wheel scrolls the page
        event.preventDefault();
        if (event.ctrlKey) this.#zoom(event.deltaY > 0 ? 1.25 : 0.8, this.#at(event.offsetX));
        else this.#look({ to: this.#to + (event.deltaY || event.deltaX) * this.#window.length * 0.001 });
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.#typed(event));
  }

  #drag(down) {
    const { to } = this.#window;
    const start = this.#to;
    let moved = false;
    this.canvas.setPointerCapture(down.pointerId);
    const move = (event) => {
      const by = event.clientX - down.clientX;
      moved ||= Math.abs(by) > DRAG_PX;
      if (moved)
        this.#look({ to: start - (by / (this.canvas.clientWidth - this.#gutter)) * this.#window.length });
    };
    const up = (event) => {
      this.canvas.removeEventListener("pointermove", move);
      if (moved || event.type === "pointercancel") return;
      this.#window.to = to;
      if (down.offsetX > this.#gutter) this.#choose({ at: Math.min(this.#at(down.offsetX), serverNow()) });
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up, { once: true });
    this.canvas.addEventListener("pointercancel", up, { once: true });
  }

  #hover({ offsetX, offsetY }) {
    const at = this.#at(offsetX);
    this.hovering = offsetX > this.#gutter ? { at } : null;
    const y = offsetY + this.frame.scrollTop;
    const tall = (this.#mode === "work" ? WORK_LANE : LANE) + GAP;
    const row = this.#rows.find((each) => y >= each.y && y < each.y + tall);
    if (row?.isWork) {
      const told = this.hovering ? toldAt(row.lane, at, (moment) => this.#x(moment)) : "";
      setText(this.told, told ? `${row.lane.name}: ${visible(told)}` : "");
      this.#paint();
      return;
    }
    const span = row && this.hovering && row.lane.spans.findLast((each) => each.at <= at);
    const many = span?.changes > 1 ? `, ${span.changes} changes close together` : "";
    setText(
      this.told,
      span
        ? `${row.lane.name}, ${row.lane.machine}: ${span.state} since ${new Date(span.at).toLocaleTimeString()} (event ${span.seq}${many})`
        : "",
    );
    this.#paint();
  }

  #typed(event) {
    const acts = {
      ArrowLeft: () => this.#step(-1),
      ArrowRight: () => this.#step(1),
      "+": () => this.#zoom(0.5, this.#moment?.at),
      "-": () => this.#zoom(2, this.#moment?.at),
      Home: () => this.#choose({ seq: 1 }),
      End: () => this.#choose(null),
      Escape: () => (this.#moment ? this.#choose(null) : false),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key] || acts[event.key]() === false)
      return;
    event.preventDefault();
  }

  /** Move to the previous or next change. */
  #step(by) {
    const seq = this.#moment?.seq ?? Infinity;
    const seqs = this.#rows.flatMap(({ lane }) => seqsOf(lane));
    const next =
      by < 0
        ? Math.max(...seqs.filter((each) => each < seq))
        : Math.min(...seqs.filter((each) => each > seq));
    if (Number.isFinite(next)) this.#choose({ seq: next });
    else if (by > 0) this.#choose(null);
  }

  #choose(detail) {
    this.dispatchEvent(new CustomEvent("choose", { detail, bubbles: true }));
  }
}

/** The events of a lane that can be stepped through. */
const seqsOf = ({ spans, turns = [], calls = [], marks = [] }) =>
  (spans ?? [...turns, ...calls, ...marks]).map(({ seq }) => seq);

/** A name that fits a width: a long one is cut, never squeezed. */
function fitted(pen, name, width) {
  if (pen.measureText(name).width <= width) return name;
  let short = name;
  while (short && pen.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}

function label(at, step) {
  const moment = new Date(at);
  if (step >= 86400_000) return moment.toLocaleDateString([], { month: "short", day: "numeric" });
  return moment.toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    ...(step < MINUTE ? { second: "2-digit" } : {}),
  });
}

customElements.define("time-line", TimeLine);
