// All tasks: as a board with a column for each state, or as a list. A task that goes on shows what its agent does.

import { secondsSince, span } from "../clock.js";
import { costs, spent } from "../costs.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { stateOf, talks } from "../talks.js";
import { againKey, COLUMNS, canAsk, cancel, cancelKey, columnOf, runAgain, workerOf } from "../tasks.js";
import { visible } from "../visible.js";
import { face } from "./agent-face.js";

const SHOWN = 30; // of a column; the list has all
const SHAPE = "tasks:shape";
const TITLE_CHARS = 140;
const DOING_CHARS = 120;

class TaskBoard extends Part {
  start() {
    this.shape = localStorage.getItem(SHAPE) === "list" ? "list" : "board";
    this.columns = h("div", { class: "columns" });
    this.rows = h("ul", { class: "rows", "aria-label": "Tasks, the newest first" });
    this.switch = h("div", { class: "shapes", role: "group", "aria-label": "Shape" }, [
      this.#button("board", "Board"),
      this.#button("list", "List"),
    ]);
    this.counts = h("p", { class: "counts" });
    this.replaceChildren(
      h("header", { class: "head" }, h("h1", { text: "Tasks" }), this.counts, this.switch),
      this.columns,
      this.rows,
    );
    this.watch(["talks", "team", "agents", "pending", "costs"], () => this.#paint());
    this.tick(() => this.#paintAges());
  }

  #button(shape, text) {
    const choose = () => {
      this.shape = shape;
      localStorage.setItem(SHAPE, shape);
      this.#paint();
    };
    return pushButton(text, choose, { data: { shape } });
  }

  #paint() {
    for (const each of this.switch.children)
      setAttribute(each, "aria-pressed", String(each.dataset.shape === this.shape));
    const newest = [...talks.list].reverse();
    const columns = Map.groupBy(newest, columnOf);
    setHidden(this, !newest.length);
    setHidden(this.columns, this.shape !== "board");
    setHidden(this.rows, this.shape !== "list");
    keyed(
      this.counts,
      COLUMNS.filter(({ name }) => columns.has(name)),
      ({ name }) => name,
      () => h("span"),
      (element, { name, label }) => setText(element, `${columns.get(name).length} ${label.toLowerCase()}`),
    );
    if (this.shape === "board") this.#paintBoard(columns);
    else keyed(this.rows, newest, ({ conversation }) => conversation, card, update);
    this.#paintAges();
  }

  #paintBoard(columns) {
    keyed(
      this.columns,
      COLUMNS,
      ({ name }) => name,
      column,
      (section, { name }) => {
        const found = columns.get(name) ?? [];
        setText(section.count, String(found.length));
        setHidden(section.none, found.length > 0);
        setText(section.more, `${found.length - SHOWN} older ones are in the list.`);
        setHidden(section.more, found.length <= SHOWN);
        keyed(section.list, found.slice(0, SHOWN), ({ conversation }) => conversation, card, update);
      },
    );
  }

  #paintAges() {
    for (const item of this.querySelectorAll("li[data-column]")) setText(item.age, lasted(item.talk));
  }
}

function column({ name, label }) {
  const section = h("section", { data: { column: name }, "aria-labelledby": `column-${name}` });
  section.count = h("span", { class: "count" });
  section.list = h("ul");
  section.none = h("p", { class: "none", "aria-hidden": "true", text: "–" });
  section.more = h("p", { class: "muted", hidden: true });
  section.append(
    h("h2", { id: `column-${name}` }, `${label} `, section.count),
    section.list,
    section.none,
    section.more,
  );
  return section;
}

function card(talk) {
  const item = h("li");
  item.link = h("a", { href: link("conversation", talk.conversation) });
  item.who = h("span", { class: "who" });
  item.age = h("span", { class: "age" });
  item.cost = h("span", { class: "age" });
  item.doing = h("p", { class: "doing", hidden: true });
  item.state = h("span", { class: "tone" });
  item.button = h("button", { type: "button", class: "quiet", data: { acts: "" } });
  item.error = errorLine();
  item.append(
    h("p", { class: "title" }, item.link),
    item.doing,
    h("div", { class: "meta" }, item.who, item.state, item.age, item.cost, item.button),
    item.error,
  );
  item.button.addEventListener("click", () => (item.talk.outcome === null ? cancel : runAgain)(item.talk));
  return item;
}

function update(item, talk) {
  item.talk = talk;
  item.dataset.column = columnOf(talk);
  setText(item.link, visible(talk.text, TITLE_CHARS));
  const { word, tone } = stateOf(talk);
  setText(item.state, visible(word, 40));
  item.state.dataset.tone = tone;
  setText(item.cost, spent(costs.conversation(talk.conversation)));
  paintWorker(item, talk);
  paintButton(item, talk);
}

function paintWorker(item, talk) {
  const name = workerOf(talk);
  const agent = name ? store.agent(name) : null;
  const key = `${agent?.seat} ${name}`;
  if (item.who.dataset.key !== key) {
    item.who.dataset.key = key;
    item.who.replaceChildren(...(agent ? [face(agent)] : []), visible(name ?? "", 40));
  }
  const doing = talk.outcome === null && agent ? store.note(agent.seat).doing?.text : "";
  setText(item.doing, visible(doing ?? "", DOING_CHARS));
  setHidden(item.doing, !doing);
}

function paintButton(item, talk) {
  const isOpen = talk.outcome === null;
  const key = isOpen ? cancelKey(talk) : againKey(talk);
  const pending = store.pending.get(key)?.label;
  setText(item.button, pending ? `${pending} …` : isOpen ? "Cancel" : "Run again");
  const name = visible(talk.text, 60);
  setAttribute(item.button, "aria-label", `${isOpen ? "Cancel" : "Run again"}: ${name}`);
  setAttribute(item.button, "aria-disabled", pending ? "true" : null);
  setHidden(item.button, !isOpen && !canAsk());
  show(item.error, store.failed.get(key));
}

function lasted({ startedAt, endedAt }) {
  if (!endedAt) return `for ${span(secondsSince(startedAt))}`;
  return `${span(secondsSince(endedAt))} ago`;
}

customElements.define("task-board", TaskBoard);
