// The messages of a channel: opened at the end, earlier ones are loaded on scrolling up.
//
// The thread is a window of the log. It is live while it reaches the end of the log; a jump to an old message makes a
// window around it, and scrolling down loads the rest. Text that the turn holder is writing is shown below, and is
// replaced by its message.

import { get } from "../api.js";
import { h, pushButton, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { see } from "../seen.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";
import { dayLine, entry, newLine, quoted, TYPES, words } from "./channel-entries.js";

const PAGE = 120; // events; a turn has about four
const ENTRIES_MAX = 1200;
const NEAR_PX = 60; // scrolled this close to the end, the thread follows new messages
const EARLY_PX = 300; // scrolled this close to the beginning, it loads earlier messages
const AGAIN_MS = 1000; // retry interval while the server is unreachable
const GONE_MS = 400; // a partial text stays until its message is there, at most so long

class ChannelThread extends Part {
  #first = 0; // seq of the oldest event of the window
  #last = 0; // and of the newest; 0 until loaded
  #atStart = false; // the window reaches the beginning of the log
  #live = true; // the window reaches its end
  #loading = false;
  #missed = 0;
  #quotes = new Map(); // seq to {speaker, text}, of messages in the window and of originals
  #fading = null;

  start() {
    this.classList.add("panel");
    const { seen = null } = store.channel(this.channel) ?? {}; // before this page shows the messages
    this.top = h("p", { class: "line", hidden: true }, h("span", { text: "beginning of the channel" }));
    this.entries = h("div", { class: "entries" });
    this.writing = this.#buildWriting();
    this.log = h(
      "div",
      {
        class: "log",
        role: "log",
        "aria-label": `Messages in ${this.channel}`,
        tabindex: "0",
        on: { scroll: () => this.#scrolled(), jump: ({ detail }) => this.jump(detail.seq) },
      },
      this.top,
      this.entries,
      this.writing,
    );
    this.empty = h("p", { class: "muted", text: "No messages yet.", hidden: true });
    this.news = pushButton("", () => (this.#live ? this.#toEnd() : this.#open()), {
      class: "news",
      hidden: true,
    });
    this.replaceChildren(this.empty, this.log, this.news);
    this.listen((events) => this.#hear(events));
    this.watch(`channel:${this.channel}`, () => this.#paintDelivery());
    this.watch(`channel:${this.channel}`, () => this.#see());
    const shown = () => this.#see();
    document.addEventListener("visibilitychange", shown);
    this.until(() => document.removeEventListener("visibilitychange", shown));
    this.watch(`partial:${this.channel}`, () => this.#paintPartial());
    this.watch("events", () => store.events.length === 0 && this.#last && this.#open()); // another log
    this.until(() => clearTimeout(this.#fading));
    this.at ? this.jump(this.at) : this.#open(seen);
  }

  // ── loading ──────────────────────────────────────────────────────────────────────────────────

  /** A page of the log; null if this element has left the page. Retries while the server is unreachable. */
  async #page(where) {
    const query = new URLSearchParams({ channel: this.channel, types: TYPES, limit: PAGE, ...where });
    for (;;) {
      const page = await get(`/api/log?${query}`).catch(() => null);
      if (!this.isConnected) return null;
      if (page) return page;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  async #load(run) {
    if (this.#loading) return;
    this.#loading = true;
    try {
      await run();
    } finally {
      this.#loading = false;
    }
  }

  /** Show the newest messages. */
  #open(seen = null) {
    return this.#load(async () => {
      const page = await this.#page({});
      if (!page) return;
      this.#begin(page.events, page.events.length < PAGE);
      this.#catchUp(page.after);
      this.#markNew(seen);
      this.#toEnd();
      await this.#fill();
    });
  }

  /** A line above the messages that nobody had seen when the thread was opened. */
  #markNew(seen) {
    if (seen === null) return;
    const unseen = [...this.entries.querySelectorAll(".said:not([data-human])")].filter(
      ({ dataset }) => Number(dataset.seq) > seen,
    );
    if (!unseen.length || unseen.length === this.entries.querySelectorAll(".said").length) return;
    const line = newLine(unseen.length);
    line.dataset.day = unseen[0].dataset.day;
    line.dataset.seq = Number(unseen[0].dataset.seq) - 1;
    unseen[0].before(line);
  }

  /** Load earlier messages until the thread can be scrolled. */
  async #fill() {
    while (!this.#atStart && this.log.scrollHeight <= this.log.clientHeight + EARLY_PX)
      if (!(await this.#earlier())) return;
  }

  async #earlier() {
    const page = await this.#page({ before: this.#first });
    if (!page) return false;
    const below = this.log.scrollHeight - this.log.scrollTop;
    this.#atStart = page.events.length < PAGE;
    this.#first = page.events[0]?.seq ?? this.#first;
    this.entries.prepend(...this.#made(page.events));
    this.#divideDays();
    setHidden(this.top, !this.#atStart);
    this.log.scrollTop = this.log.scrollHeight - below; // the messages in view stay where they are
    while (this.entries.childElementCount > ENTRIES_MAX) {
      this.entries.lastElementChild.remove();
      this.#last = Number(this.entries.lastElementChild.dataset.seq);
      this.#live = false;
    }
    return true;
  }

  async #later() {
    const page = await this.#page({ after: this.#last });
    if (!page) return;
    this.#append(page.events);
    if (!page.more) this.#catchUp(page.after);
  }

  #begin(events, atStart) {
    this.#first = events[0]?.seq ?? 0;
    this.#last = Math.max(1, this.#first - 1);
    this.#atStart = atStart;
    this.#quotes.clear();
    this.entries.replaceChildren();
    this.#append(events);
    setHidden(this.top, !atStart || !this.entries.childElementCount);
  }

  /** The window has reached the end of the log: add the events that the page has heard of meanwhile. */
  #catchUp(after) {
    this.#live = true;
    this.#append(store.events.filter((event) => event.channel === this.channel && event.seq > after));
    setHidden(this.empty, this.entries.childElementCount > 0);
  }

  #hear(events) {
    const ours = events.filter((event) => event.channel === this.channel);
    if (!this.#last || !ours.length) return;
    const follow = this.#atEnd && this.#live;
    if (ours.some(({ type }) => type === "agent_message")) this.#endPartial();
    const added = this.#live ? this.#append(ours) : ours.filter(words).length;
    if (!added) return;
    setHidden(this.empty, true);
    if (follow) return this.#toEnd();
    this.#missed += added;
    setText(this.news, `${this.#missed} new ↓`);
    setHidden(this.news, false);
  }

  /** Append the new events that have an entry; returns their number. */
  #append(events) {
    const fresh = events.filter((event) => event.seq > this.#last);
    this.#last = fresh.at(-1)?.seq ?? this.#last;
    const made = this.#made(fresh);
    this.entries.append(...made);
    if (made.length) this.#divideDays();
    while (this.#live && this.entries.childElementCount > ENTRIES_MAX * 1.2) {
      this.entries.firstElementChild.remove();
      this.#first = Number(this.entries.firstElementChild.dataset.seq);
      this.#atStart = false;
      setHidden(this.top, true);
    }
    this.#paintDelivery();
    return made.length;
  }

  /** Put a line with the date where a day begins. */
  #divideDays() {
    let day = null;
    for (const each of [...this.entries.children]) {
      const begins = each.dataset.day !== day;
      day = each.dataset.day;
      if (each.classList.contains("day")) {
        if (!begins) each.remove(); // earlier messages of that day have come before it
      } else if (begins) each.before(dayLine(each));
    }
  }

  #made(events) {
    for (const event of events) {
      const said = words(event);
      if (said) this.#quotes.set(event.seq, said);
    }
    const made = events.map(entry).filter(Boolean);
    for (const quote of made.flatMap((each) => [...each.querySelectorAll(".quote")])) this.#fillQuote(quote);
    return made;
  }

  /** The original of a reply may be older than the window. */
  async #fillQuote(quote) {
    const seq = Number(quote.dataset.of);
    if (!this.#quotes.has(seq)) {
      const page = await get(`/api/log?after=${seq - 1}&limit=1`).catch(() => null);
      const said = page?.events[0]?.seq === seq ? words(page.events[0]) : null;
      if (said) this.#quotes.set(seq, said);
    }
    const said = this.#quotes.get(seq);
    if (said) setText(quote, `↪ ${quoted(said)}`);
  }

  // ── scrolling ────────────────────────────────────────────────────────────────────────────────

  get #atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR_PX;
  }

  #scrolled() {
    if (this.#atEnd && this.#live) this.#seen();
    if (!this.#last || this.#loading) return;
    if (this.log.scrollTop < EARLY_PX && !this.#atStart) this.#load(() => this.#earlier());
    else if (this.#atEnd && !this.#live) this.#load(() => this.#later());
  }

  #toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
    this.#seen();
  }

  #seen() {
    this.#missed = 0;
    setHidden(this.news, true);
  }

  /** Go to a message; one outside of the window is loaded with its neighbours. */
  async jump(seq) {
    if (!this.#entry(seq)) await this.#load(() => this.#openAround(seq));
    const found = this.#entry(seq);
    if (!found) return this.#last ? undefined : this.#open();
    found.scrollIntoView({ block: "center" });
    found.focus({ preventScroll: true });
    found.classList.add("found");
    setTimeout(() => found.classList.remove("found"), 2000);
  }

  async #openAround(seq) {
    const [before, after] = await Promise.all([
      this.#page({ before: seq + 1, limit: PAGE / 2 }),
      this.#page({ after: seq, limit: PAGE / 2 }),
    ]);
    if (!before || !after) return;
    this.#begin([...before.events, ...after.events], before.events.length < PAGE / 2);
    this.#live = false;
    if (!after.more) return this.#catchUp(after.after);
    setText(this.news, "newest ↓");
    setHidden(this.news, false);
  }

  #entry(seq) {
    return this.entries.querySelector(`[data-seq="${Number(seq)}"]`);
  }

  // ── partial text ─────────────────────────────────────────────────────────────────────────────

  /** Not announced to screen readers: it changes several times a second. */
  #buildWriting() {
    const parts = {
      speaker: h("strong"),
      text: h("div", { class: "text" }),
    };
    const item = h(
      "article",
      { class: "partial", "aria-live": "off", hidden: true },
      h("span", { class: "face" }),
      h("header", {}, parts.speaker, h("span", { class: "age", text: "is writing …" })),
      parts.text,
    );
    item.parts = parts;
    return item;
  }

  /** The message is there: it replaces its partial text. */
  #endPartial() {
    clearTimeout(this.#fading);
    store.partials.delete(this.channel);
    setHidden(this.writing, true);
  }

  #see() {
    const channel = store.channel(this.channel);
    if (channel) see({ channel: this.channel }, channel.newest, channel.seen);
  }

  #paintPartial() {
    const partial = store.partials.get(this.channel);
    clearTimeout(this.#fading);
    if (!partial) {
      // Its message follows in a moment; without this delay the text would be gone in between.
      this.#fading = setTimeout(() => setHidden(this.writing, true), GONE_MS);
      return;
    }
    const follow = this.#atEnd;
    const { parts } = this.writing;
    if (parts.speaker.textContent !== partial.agent) {
      const agent = store.agent(partial.agent);
      if (agent) this.writing.firstElementChild.replaceWith(face(agent));
      setText(parts.speaker, partial.agent);
    }
    setText(parts.text, partial.text);
    setHidden(this.writing, !this.#live);
    setHidden(this.empty, true);
    if (follow) this.log.scrollTop = this.log.scrollHeight;
  }

  // ── delivery ─────────────────────────────────────────────────────────────────────────────────

  /** Update the delivery state of the newest messages. */
  #paintDelivery() {
    const members = store.channel(this.channel)?.members ?? [];
    for (const said of [...this.entries.querySelectorAll(".said")].slice(-20)) {
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

customElements.define("channel-thread", ChannelThread);
