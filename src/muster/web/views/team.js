// The team: what needs a person first, then the agents, by what they do. The nine seats of a lead's team are a grid
// with the lead in the middle.

import "../elements/node-line.js";
import "../elements/agent-card.js";
import "../elements/first-steps.js";
import "../elements/needs-list.js";
import "../elements/retired-list.js";
import "../elements/roster-tools.js";
import "../elements/since-panel.js";
import "../elements/team-button.js";
import "../elements/team-tools.js";
import { post } from "../api.js";
import { costs, dollars, perMinute, spent, spentInFull } from "../costs.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { addButton } from "../elements/agent-dialog.js";
import { openDialog } from "../elements/dialog.js";
import { lastHour } from "../last-hour.js";
import { Part } from "../part.js";
import { GROUPS, groupNow, matches, Places, SORTS } from "../roster.js";
import { go, link } from "../router.js";
import { controlsOf, press, runKey } from "../run.js";
import { store } from "../store.js";
import { visible } from "../visible.js";

const LEAD = 4;
const FIRST_MS = 500; // the cards come first
const AGAIN_MS = 30_000;
const GRID = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

class TeamView extends Part {
  start() {
    this.counts = h("p", { class: "counts" });
    this.cost = pushButton("", showDays, { class: "cost quiet", hidden: true });
    this.grid = h("div", { class: "grid nine" });
    this.roster = h("div", { class: "roster" });
    this.places = new Places();
    this.cards = new Map(); // by seat: a card moves between groups, and keeps its focus
    this.empty = h("section", { class: "empty", hidden: true });
    this.nobody = h("p", {
      class: "muted",
      role: "status",
      text: "No agent matches the filter.",
      hidden: true,
    });
    this.tools = document.createElement("team-tools");
    const [what, group] = this.params ?? [];
    this.shape = document.createElement("roster-tools");
    this.shape.changed = () => this.#narrow();
    Object.assign(this.tools, {
      filter: (agent) => matches(agent, this.shape.filter),
      group: what === "group" && group ? group : null,
      selected: new Set(),
      selecting: false,
      changed: () => this.#narrow(),
    });
    this.replaceChildren(
      h(
        "div",
        { class: "head" },
        h("h1", { text: "Team" }),
        this.counts,
        this.cost,
        addButton(),
        h("team-button"),
      ),
      h("since-panel", { class: "panel" }),
      h("needs-list", { class: "panel" }),
      h("node-line", { class: "panel", hidden: true }),
      this.empty,
      h("div", { class: "tools-row" }, this.tools, this.shape),
      this.nobody,
      h("section", { "aria-label": "Agents", class: "agents" }, this.grid, this.roster),
      h("retired-list"),
    );
    this.watch(["agents", "team"], () => this.#paint());
    this.tick(() => this.#paintRoster());
    this.watch("costs", () => this.#paintCost());
    this.addEventListener("focusin", ({ target }) => this.#rove(target.closest("agent-card")));
    this.key("ArrowRight", "Move between agents", (event) => this.#move(event));
    for (const key of ["ArrowLeft", "ArrowDown", "ArrowUp"]) this.key(key, "", (event) => this.#move(event));
    this.key("Enter", "Open the agent", (event) =>
      event.target.localName === "agent-card" ? this.#open(event.target) : false,
    );
    this.actKey("s", "Press the main button of the selected agent", () => this.#focused?.press() ?? false);
    this.actKey("o", "Open the menu of the selected agent", () => this.#focused?.openMenu() ?? false);
    this.actKey("x", "Select the agent, or no longer", () =>
      this.#focused ? this.#pick(this.#focused.seat) : false,
    );
    this.addEventListener("pick", ({ detail }) => this.#pick(detail));
    this.actKey("m", "Write a message to the selected agent", () =>
      this.#focused ? this.#open(this.#focused, "write") : false,
    );
    this.#showHour(FIRST_MS);
  }

  /** Draw the last hour of each agent, again and again while the view is shown. */
  #showHour(pause) {
    setTimeout(async () => {
      if (!this.isConnected) return;
      const bars = document.hidden ? null : await lastHour().catch(() => null);
      for (const [seat, card] of bars ? this.cards : []) card.showHour(bars.get(seat));
      this.#showHour(AGAIN_MS);
    }, pause);
  }

  #paint() {
    const all = store.shown;
    const agents = this.tools.shown;
    this.#paintRoster();
    this.#paintEmpty(all);
    setHidden(this.nobody, agents.length > 0 || all.length === 0);
    this.toggleAttribute("data-selecting", this.tools.selecting);
    for (const card of this.querySelectorAll("agent-card")) card.mark(this.tools.selected.has(card.seat));
    if (!this.querySelector("agent-card[tabindex='0']")) this.#rove(this.querySelector("agent-card"));
  }

  /** How many agents are in each group: where the roster shows them, with the same calm. */
  #paintCounts(agents, groupOf) {
    const groups = Map.groupBy(agents, groupOf);
    keyed(
      this.counts,
      GROUPS.filter(({ name }) => groups.has(name)),
      ({ name }) => name,
      () => h("span"),
      (element, { name, count }) => setText(element, `${groups.get(name).length} ${count}`),
    );
  }

  /** The nine seats, if they are not filtered, and everybody else in groups. A list has the nine in its groups, too. */
  #paintRoster() {
    const agents = this.tools.shown;
    const { shape, sort } = this.shape;
    const focused = this.#focused && document.activeElement;
    const nine = shape === "cards" && agents.length === store.shown.length && wasSummoned();
    setHidden(this.grid, !nine);
    keyed(
      this.grid,
      nine ? GRID : [],
      (place) => `${place}:${standing(place)}`,
      (place) => this.#place(place),
    );
    this.roster.dataset.shape = shape;
    const isSeated = ({ place }) => nine && Number.isInteger(place);
    const groupOf = (agent) => (isSeated(agent) ? groupNow(agent) : this.places.group(agent));
    this.#paintCounts(agents, groupOf);
    const groups = Map.groupBy(
      agents.filter((agent) => !isSeated(agent)),
      groupOf,
    );
    keyed(
      this.roster,
      GROUPS.filter(({ name }) => groups.has(name)),
      ({ name }) => name,
      group,
      (section, { name }) => {
        const members = groups.get(name).sort(SORTS[sort].compare);
        setText(section.querySelector(".count"), String(members.length));
        keyed(
          section.lastElementChild,
          members,
          ({ seat }) => seat,
          ({ seat }) => this.#card(seat),
        );
      },
    );
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  #place(place) {
    const agent = agentAt(place);
    if (!agent) return vacant(place);
    return agent.status === "expired" ? unborn(agent) : this.#card(agent.seat);
  }

  #card(seat) {
    if (!this.cards.has(seat)) this.cards.set(seat, agentCard(seat));
    return this.cards.get(seat);
  }

  /** The group or the selection has changed. The address has the group; the page is not built again, so that the
   *  focus stays. */
  #narrow() {
    const { group } = this.tools;
    history.replaceState(null, "", group === null ? link("") : link("", "group", group));
    this.tools.paint();
    this.#paint();
  }

  #pick(seat) {
    const { selected } = this.tools;
    selected.has(seat) ? selected.delete(seat) : selected.add(seat);
    this.tools.selecting = true;
    this.#narrow();
  }

  #paintCost() {
    const parts = [
      `${spent(costs.team)} used`,
      isPartly(costs) && `${dollars(costs.today)} today`,
      perMinute(costs.rate),
    ];
    setText(this.cost, parts.filter(Boolean).join(" · "));
    setAttribute(this.cost, "title", `${spentInFull(costs.team)}; press for days, agents and models`);
    setHidden(this.cost, !spent(costs.team));
  }

  /** A new user's first page: what can be done here. */
  #paintEmpty(agents) {
    const hasSeats = agents.length > 0 || GRID.some(agentAt);
    setHidden(this.empty, hasSeats);
    if (!hasSeats && !this.empty.childElementCount) this.empty.append(h("first-steps"));
  }

  /** The selected card. Without one, `s` and `m` do nothing: no agent is stopped by accident. */
  get #focused() {
    return document.activeElement?.closest?.("agent-card") ?? null;
  }

  get #chosen() {
    return this.#focused ?? this.querySelector("agent-card[tabindex='0']");
  }

  /** Roving tabindex: Tab reaches one card, the arrow keys reach the others. */
  #rove(card) {
    if (!card || card.tabIndex === 0) return;
    for (const each of this.querySelectorAll("agent-card[tabindex='0']")) each.tabIndex = -1;
    card.tabIndex = 0;
  }

  #move(event) {
    const cards = [...this.querySelectorAll("agent-card")];
    const from = this.#chosen;
    if (!from) return false;
    if (document.activeElement !== from) return void from.focus();
    const next = nearest(from, cards, STEPS[event.key]);
    next?.focus();
  }

  #open(card, ...rest) {
    go("agent", card.agent.id, ...rest);
  }
}

/** The agent at a place of the grid; its seat may have another number. */
const agentAt = (place) => [...store.agents.values()].find((agent) => agent.place === place);

/** Whether there is more than a lead in the nine places: empty places alone are of no use. */
const wasSummoned = () => GRID.filter(agentAt).length > 1 || (store.births && GRID.some(isCrew));

const isCrew = (place) => place !== LEAD && Boolean(agentAt(place));

/** Whether only a part of all costs is of today. */
const isPartly = ({ today, team }) => today > 0 && today < team.costUsd;

/** What stands at a place: the card of a seat, why nobody was born there, or an empty place. */
function standing(place) {
  const agent = agentAt(place);
  if (!agent) return `vacant ${store.births}`;
  return agent.status === "expired" ? agent.badge.line : agent.seat;
}

/** An empty place, with the button that summons an agent there. */
function vacant(place) {
  if (!store.births || place === LEAD) return h("div", { class: "vacant", "aria-hidden": "true" });
  const error = errorLine();
  const button = pushButton("Summon an agent here", () => summonTo(place, button, error), {
    class: "quiet",
    data: { acts: "operator" },
    "aria-label": `Summon an agent to place ${place}`,
  });
  return h("div", { class: "vacant free" }, button, error);
}

async function summonTo(place, button, error) {
  button.disabled = true;
  show(error, "");
  try {
    await post("/api/agents/summon", { seats: [place] });
  } catch (problem) {
    show(error, problem.message);
    button.disabled = false;
  }
}

/** The place of an agent that was not born: why, and the button that summons again. */
function unborn(agent) {
  const error = errorLine();
  const buttons = controlsOf(agent).map((control) =>
    pushButton(
      control.label,
      async () => {
        await press(agent, control);
        show(error, store.failed.get(runKey(agent)));
      },
      { class: "act", data: { acts: "" }, "aria-label": `${control.label} in seat ${agent.seat}` },
    ),
  );
  return h(
    "div",
    { class: "vacant unborn" },
    h("p", { class: "muted", text: visible(agent.badge.line) }),
    buttons,
    error,
  );
}

function agentCard(seat) {
  const card = document.createElement("agent-card");
  card.seat = seat;
  card.tabIndex = -1;
  return card;
}

/** A group of agents with its heading. */
function group({ name, label }) {
  const heading = h("h2", { id: `group-${name}` }, `${label} `, h("span", { class: "count" }));
  const members = h("div", { class: "grid more" });
  return h("section", { "aria-labelledby": heading.id, data: { group: name } }, heading, members);
}

/** The nearest card in a direction. */
function nearest(from, cards, [dx, dy]) {
  const [x, y] = middle(from);
  const ahead = cards
    .map((card) => [card, ...middle(card)])
    .filter(([, cx, cy]) => (cx - x) * dx > 4 || (cy - y) * dy > 4);
  const distance = ([, cx, cy]) => Math.abs(cx - x) * (dx ? 1 : 3) + Math.abs(cy - y) * (dy ? 1 : 3);
  return ahead.sort((a, b) => distance(a) - distance(b))[0]?.[0];
}

function middle(card) {
  const { left, top, width, height } = card.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}

/** What each day cost, by agent and model. */
function showDays() {
  const cells = (tag, texts) => h("tr", {}, ...texts.map((text) => h(tag, { text })));
  const rows = costs.days.map((each) =>
    cells("td", [each.day, each.agent || "without a seat", each.model, spentInFull(each)]),
  );
  openDialog(
    "Costs by day (UTC)",
    h("table", {}, h("thead", {}, cells("th", ["Day", "Agent", "Model", "Used"])), h("tbody", {}, rows)),
  );
}

customElements.define("team-view", TeamView);
