// State diagrams, drawn from the transition tables. Occupied states are highlighted, and a transition flashes when it
// happens.

import { get } from "../api.js";
import { h, keyed, setAttribute, setText, svg } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const WIDE = 660;
const HIGH = 370;
const BOX = { width: 116, height: 46 };
const LABEL = 0.34; // position of the label along its arrow: labels of opposite arrows do not overlap
const NAMES_MAX = 2;
const FLASH_MS = 1500;
const AGAIN_MS = 1000; // retry interval while the server is unreachable

// Position of each state, relative to the picture. States that are not listed are placed on a circle.
const PLACES = {
  identity: {
    none: [0.12, 0.2],
    hatching: [0.5, 0.2],
    expired: [0.88, 0.2],
    alive: [0.5, 0.78],
    sleeping: [0.12, 0.78],
  },
  run: { pause: [0.5, 0.16], continuous: [0.14, 0.5], run_once: [0.86, 0.5], run_cleanup: [0.5, 0.84] },
  turns: {
    OFFLINE: [0.1, 0.5],
    IDLE: [0.38, 0.12],
    QUEUED: [0.38, 0.88],
    ACTIVE: [0.88, 0.88],
    WAITING: [0.88, 0.12],
  },
  delegation: { MAIN: [0.16, 0.25], QUEUE: [0.16, 0.78], AGENT: [0.76, 0.5] },
};

class StateDiagrams extends Part {
  #pictures = [];
  busy = [];

  start() {
    this.tabs = h("div", { class: "row", role: "tablist", "aria-label": "Machines" });
    this.holder = h("div", { class: "diagram", role: "tabpanel" });
    this.ways = h("ul", { class: "ways" });
    this.replaceChildren(
      h("h2", { text: "State machines" }),
      this.tabs,
      this.holder,
      h("details", {}, h("summary", { text: "All transitions as text" }), this.ways),
    );
    this.watch("agents", () => this.#paint());
    this.listen((events) => this.#flash(events));
    this.#load();
  }

  /** Highlight the states at a moment in the past (a team state), or now (null). */
  show(state) {
    this.moment = state;
    this.#paint();
  }

  /** Highlight the delegation states that conversations are in: MAIN, QUEUE, or agent names. */
  showBusy(names) {
    this.busy = names;
    this.#paint();
  }

  async #load() {
    const answer = await get("/api/diagrams").catch(() => null);
    if (!this.isConnected) return;
    if (!answer) return void setTimeout(() => this.#load(), AGAIN_MS);
    this.#pictures = answer.diagrams.map(drawn);
    this.tabs.replaceChildren(
      ...this.#pictures.map((each, index) =>
        h("button", {
          type: "button",
          role: "tab",
          text: each.label,
          on: { click: () => this.#choose(index), keydown: (event) => this.#typed(event, index) },
        }),
      ),
    );
    const kept = this.#pictures.findIndex(({ label }) => label === sessionStorage.getItem("diagram"));
    this.#choose(kept >= 0 ? kept : this.#pictures.findIndex(({ machine }) => machine === "turns"));
  }

  #typed(event, index) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = this.#pictures[index + by] && index + by;
    if (next === undefined) return;
    event.preventDefault();
    this.#choose(next);
    this.tabs.children[next].focus();
  }

  #choose(index) {
    this.chosen = this.#pictures[index];
    sessionStorage.setItem("diagram", this.chosen.label);
    [...this.tabs.children].forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
    });
    this.holder.replaceChildren(h("p", { class: "muted", text: this.chosen.title }), this.chosen.picture);
    keyed(
      this.ways,
      this.chosen.arrows,
      (arrow) => `${arrow.from} ${arrow.to} ${arrow.trigger} ${arrow.condition}`,
      (arrow) =>
        h(
          "li",
          {},
          h("strong", { text: `${arrow.from} → ${arrow.to}` }),
          ` ${arrow.trigger}${arrow.condition ? ` (${arrow.condition})` : ""}: `,
          h("span", { class: "muted", text: arrow.action }),
        ),
    );
    this.#paint();
  }

  #paint() {
    if (!this.chosen) return;
    const agents = this.moment?.agents ?? store.shown;
    const { nodes, machine, desired } = this.chosen;
    const there = new Map();
    if (machine === "delegation")
      for (const name of this.busy) there.set(generic(name), [...(there.get(generic(name)) ?? []), name]);
    for (const agent of agents) {
      for (const state of statesOf(machine, desired, agent))
        there.set(state, [...(there.get(state) ?? []), agent.name ?? `seat ${agent.seat}`]);
    }
    for (const [state, node] of nodes) {
      const names = there.get(state) ?? [];
      node.group.toggleAttribute("data-lit", names.length > 0);
      setText(node.names, told(names));
      setAttribute(node.group, "aria-label", `${state}: ${names.join(", ") || "no agents"}`);
    }
  }

  /** Flash the arrows of transitions that just happened. */
  #flash(events) {
    if (!this.chosen || this.moment) return;
    for (const event of events) {
      if (event.type !== "state_transition" || event.machine !== this.chosen.machine || this.chosen.desired)
        continue;
      const [from, to] =
        event.machine === "delegation" ? [event.from, event.to].map(generic) : [event.from, event.to];
      const way = this.chosen.ways.get(`${from} ${to}`);
      if (!way) continue;
      way.setAttribute("data-gone", "");
      clearTimeout(way.fading);
      way.fading = setTimeout(() => way.removeAttribute("data-gone"), FLASH_MS);
    }
  }
}

const generic = (state) => (state === "MAIN" || state === "QUEUE" ? state : "AGENT");

/** The states of an agent in a machine. For turns: one state for each channel, else its own. */
function statesOf(machine, desired, agent) {
  if (machine === "identity") return [agent.status === "unknown" ? "alive" : agent.status];
  if (machine === "run") return [desired ? agent.desired : agent.current];
  if (machine !== "turns") return [];
  const own = agent.turn === "OFFLINE" ? [] : Object.values(agent.channels);
  return own.length ? [...new Set(own)] : [agent.turn];
}

function told(names) {
  if (!names.length) return "";
  const first = names
    .slice(0, NAMES_MAX)
    .map((name) => (name.length > 9 ? `${name.slice(0, 8)}…` : name))
    .join(", ");
  return names.length > NAMES_MAX ? `${first} +${names.length - NAMES_MAX}` : first;
}

// ── drawing ──────────────────────────────────────────────────────────────────────────────────────

/** Build the picture of a diagram, with its nodes and arrows to highlight. */
function drawn(diagram) {
  const { machine, title, states, arrows } = diagram;
  const desired = title.startsWith("desired");
  const places = new Map(
    states.map((state, index) => [state, placeOf(machine, state, index, states.length)]),
  );
  const pairs = new Map();
  for (const arrow of arrows)
    pairs.set(`${arrow.from} ${arrow.to}`, [...(pairs.get(`${arrow.from} ${arrow.to}`) ?? []), arrow]);
  const ways = new Map([...pairs].map(([pair, rows]) => [pair, way(rows, places, pairs)]));
  const nodes = new Map(states.map((state) => [state, node(state, places.get(state))]));
  const tip = svg(
    "marker",
    {
      id: `tip-${machine}-${desired}`,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      orient: "auto-start-reverse",
    },
    svg("path", { d: "M0 0 8 4 0 8z", class: "tip" }),
  );
  for (const each of ways.values()) each.querySelector("path").setAttribute("marker-end", `url(#${tip.id})`);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": `${machine}: ${title}` },
    svg("defs", {}, tip),
    ...ways.values(),
    ...[...nodes.values()].map(({ group }) => group),
  );
  const label = machine === "run" ? `run: ${desired ? "desired" : "current"}` : machine;
  return { ...diagram, desired, label, picture, ways, nodes };
}

function placeOf(machine, state, index, count) {
  const angle = (2 * Math.PI * index) / count - Math.PI / 2;
  const [x, y] = PLACES[machine]?.[state] ?? [0.5 + 0.38 * Math.cos(angle), 0.5 + 0.36 * Math.sin(angle)];
  return { x: x * WIDE, y: y * HIGH };
}

function node(state, { x, y }) {
  const names = svg("text", { y: 13, class: "names" });
  const group = svg(
    "g",
    { transform: `translate(${x} ${y})`, class: "state", role: "img", "data-state": state },
    svg("rect", { x: -BOX.width / 2, y: -BOX.height / 2, width: BOX.width, height: BOX.height, rx: 9 }),
    svg("text", { class: "label" }, state),
    names,
  );
  return { group, names };
}

/** An arrow between two boxes, curved if there is one back. Its tooltip lists all triggers. */
function way(rows, places, pairs) {
  const [{ from, to }] = rows;
  const triggers = [...new Set(rows.map(({ trigger }) => trigger))];
  const title = svg(
    "title",
    {},
    `${from} → ${to}: ${rows.map(({ trigger, condition }) => trigger + (condition ? ` (${condition})` : "")).join(", ")}`,
  );
  const [a, b] = [places.get(from), places.get(to)];
  if (from === to) {
    const d = `M${a.x - 22} ${a.y - BOX.height / 2} c-16 -34 60 -34 44 0`;
    return svg(
      "g",
      { class: "way" },
      title,
      svg("path", { d }),
      labelled(a.x, a.y - BOX.height / 2 - 30, triggers),
    );
  }
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy);
  const bend = pairs.has(`${to} ${from}`) ? 26 : 0;
  const middle = { x: (a.x + b.x) / 2 - (dy / length) * bend, y: (a.y + b.y) / 2 + (dx / length) * bend };
  const [start, end] = [edge(a, middle), edge(b, middle)];
  const along = (name) =>
    (1 - LABEL) ** 2 * start[name] + 2 * LABEL * (1 - LABEL) * middle[name] + LABEL ** 2 * end[name];
  const at = { x: along("x"), y: along("y") };
  return svg(
    "g",
    { class: "way" },
    title,
    svg("path", { d: `M${start.x} ${start.y} Q${middle.x} ${middle.y} ${end.x} ${end.y}` }),
    labelled(at.x, at.y, triggers),
  );
}

function labelled(x, y, triggers) {
  const text = triggers.length > 1 ? `${triggers[0]} +${triggers.length - 1}` : triggers[0];
  return svg("text", { x, y, class: "trigger" }, text);
}

/** The point where the line from a box's centre to another point crosses the edge of the box. */
function edge(box, towards) {
  const [dx, dy] = [towards.x - box.x, towards.y - box.y];
  const scale = Math.min(
    (BOX.width / 2 + 3) / Math.abs(dx || 1e-9),
    (BOX.height / 2 + 3) / Math.abs(dy || 1e-9),
  );
  return { x: box.x + dx * scale, y: box.y + dy * scale };
}

customElements.define("state-diagrams", StateDiagrams);
