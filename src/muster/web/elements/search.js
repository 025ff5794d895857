// The palette: finds agents, channels, views, tasks, files and messages, and does what its name says. Enter takes the chosen
// line.

import { get } from "../api.js";
import { timeOfDay } from "../clock.js";
import { h, keyed, setAttribute, setText } from "../dom.js";
import { offered, request } from "../palette.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { talks } from "../talks.js";
import { visible } from "../visible.js";
import { openDialog } from "./dialog.js";

const SHOWN = 12;
const MESSAGES = 20;
const LETTERS = 2; // a shorter text is not searched in messages
const TYPED_MS = 200; // pause in typing after which messages are searched

export function showSearch() {
  new Search().open();
}

class Search {
  #places = [];
  #messages = [];
  #request = [];
  #chosen = 0;
  #timer = null;
  #asked = "";

  open() {
    this.list = h("ul", { id: "found", role: "listbox", "aria-label": "Results" });
    this.status = h("p", { class: "muted", role: "status" });
    this.input = h("input", {
      type: "text",
      placeholder: "Go to, do, or search: an agent, “stop builder”, a task, a file, a word …",
      role: "combobox",
      autocomplete: "off",
      "aria-label": "Search",
      "aria-controls": "found",
      "aria-expanded": "true",
      autofocus: true,
      on: { input: () => this.#typed(), keydown: (event) => this.#key(event) },
    });
    this.dialog = openDialog("Search", this.input, this.list, this.status);
    this.dialog.classList.add("search");
    this.#look();
    if (talks.session === null) talks.load().then(() => this.dialog.open && this.#look());
  }

  get #found() {
    return [...this.#places, ...this.#messages, ...this.#request];
  }

  #typed() {
    this.#chosen = 0;
    this.#look();
    clearTimeout(this.#timer);
    const words = this.input.value.trim();
    if (words.length < LETTERS) return this.#take("", { messages: [] });
    this.#timer = setTimeout(() => this.#ask(words), TYPED_MS);
  }

  async #ask(words) {
    this.#asked = words;
    const query = new URLSearchParams({ q: words, limit: MESSAGES });
    const page = await get(`/api/search?${query}`).catch((problem) => ({
      messages: [],
      note: problem.message,
    }));
    if (this.#asked === words && this.input.value.trim() === words) this.#take(words, page); // else it is an old answer
  }

  #take(words, { messages, note = "" }) {
    this.#asked = words;
    this.#messages = messages.map(message);
    const none = words && !messages.length ? "No message has these words." : "";
    setText(this.status, note || none);
    this.#look();
  }

  #look() {
    this.#places = offered(this.input.value).slice(0, SHOWN);
    this.#request = request(this.input.value);
    this.#chosen = Math.min(this.#chosen, Math.max(0, this.#found.length - 1));
    keyed(
      this.list,
      this.#found,
      (place) => place.key ?? place.path.join("/"),
      (place) => this.#option(place),
    );
    this.#mark();
  }

  #option(place) {
    const content = place.snippet
      ? [
          h("span", { class: "muted where", text: place.about }),
          h("strong", { text: place.name }),
          " ",
          h("span", { class: "snippet" }, place.snippet),
        ]
      : [h("strong", { text: place.name }), " ", h("span", { class: "muted", text: place.about })];
    const option = h("li", { role: "option", on: { click: () => this.#open(place) } }, content);
    option.id = `found-${place.key ?? place.path.join("-")}`;
    option.classList.toggle("verb", Boolean(place.run));
    return option;
  }

  #open(place) {
    this.dialog.close();
    if (place.run) place.run();
    else go(...place.path);
  }

  #mark() {
    for (const [index, item] of [...this.list.children].entries())
      setAttribute(item, "aria-selected", String(index === this.#chosen));
    const chosen = this.list.children[this.#chosen];
    setAttribute(this.input, "aria-activedescendant", chosen?.id ?? null);
    chosen?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const count = Math.max(1, this.#found.length);
    const steps = { ArrowDown: 1, ArrowUp: count - 1 };
    if (event.key === "Enter" && this.#found[this.#chosen]) this.#open(this.#found[this.#chosen]);
    else if (event.key in steps) this.#chosen = (this.#chosen + steps[event.key]) % count;
    else return;
    event.preventDefault();
    this.#mark();
  }
}

/** A found message as a place. The snippet is text in parts; the words of the search are marked. */
function message({ seq, channel, speaker, seat, byHuman, ts, snippet }) {
  const agent = store.agents.get(seat)?.id;
  const where = channel ? `#${channel}` : byHuman ? `to ${agent ?? "the lead"}` : "to you";
  const day = new Date(ts).toLocaleDateString();
  return {
    key: seq,
    path: channel ? ["channel", channel, seq] : ["agent", agent ?? ""],
    name: visible(speaker, 60),
    about: `${visible(where, 80)}, ${day} ${timeOfDay(ts)}`,
    snippet: snippet.map(({ text, isMatch }) =>
      isMatch ? h("mark", { text: visible(text) }) : visible(text),
    ),
  };
}
