// The view of a channel: members, turn and timeout, messages, and the controls of a person.

import "../elements/approval-list.js";
import "../elements/channel-members.js";
import "../elements/channel-new.js";
import "../elements/channel-post.js";
import "../elements/channel-ring.js";
import "../elements/channel-rules.js";
import "../elements/channel-thread.js";
import { at } from "../address.js";
import { path, post } from "../api.js";
import { confirmed, stateOf } from "../channels.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { store } from "../store.js";

const MANY = 12; // channels, from which on a filter helps
const BY_NAME = new Intl.Collator(undefined, { numeric: true }); // channel-2 before channel-10

class ChannelView extends Part {
  start() {
    const [asked, seq] = this.params;
    this.name = asked ?? this.#names[0] ?? null;
    this.at = Number(seq) || null; // a message to go to
    this.list = h("ul", { class: "channels" });
    this.words = h("input", {
      type: "search",
      "aria-label": "Filter channels",
      placeholder: "Filter",
      hidden: true,
    });
    this.words.addEventListener("input", () => this.#paint());
    this.old = h("ul", { class: "channels" });
    this.archive = h("details", { class: "archive" }, h("summary"), this.old);
    this.archive.open = Boolean(store.channel(this.name)?.archived);
    this.missing = h("section", { class: "empty", hidden: true });
    this.room = h("div", { class: "room" }, this.missing);
    this.whole = null; // built once the channel exists
    this.replaceChildren(
      h(
        "section",
        { class: "panel side", "aria-label": "Channels" },
        h("h2", { text: "Channels" }),
        this.words,
        this.list,
        this.archive,
        h("channel-new"),
      ),
      this.room,
    );
    this.watch(["channels", "agents", "pending"], () => this.#paint());
    this.list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    this.key("[", "Previous channel", () => this.#step(-1));
    this.key("]", "Next channel", () => this.#step(1));
  }

  /** The names of the channels that are not archived. */
  get #names() {
    return named(({ archived }) => !archived);
  }

  #build() {
    const part = (tag, more = {}) =>
      Object.assign(document.createElement(tag), { channel: this.name, ...more });
    const asked = part("approval-list");
    asked.className = "panel";
    const thread = part("channel-thread", { at: this.at });
    const form = part("channel-post");
    thread.addEventListener("reply", ({ detail }) => form.replyTo(detail));
    return h(
      "div",
      { class: "whole", data: store.mayActOn({ channel: this.name }) ? {} : { closed: "" } },
      this.#buildHead(),
      part("channel-ring"),
      asked,
      h("div", { class: "column talk" }, thread, form),
      h("div", { class: "column" }, part("channel-members"), part("channel-rules")),
    );
  }

  #buildHead() {
    this.state = h("p", { class: "muted" });
    this.error = errorLine();
    this.put = pushButton("", () => this.#putAside(), { class: "quiet", data: { acts: "operator" } });
    const exported = (format, text) =>
      h("a", {
        href: at(path`/api/channels/${this.name}/export?format=${format}`),
        download: true,
        text,
        title: "Download every message of the channel",
      });
    return h(
      "header",
      { class: "head" },
      h("h1", { text: `#${this.name}` }),
      this.state,
      h(
        "p",
        { class: "keep" },
        h("span", { class: "muted", text: "Export " }),
        exported("markdown", "Markdown"),
        " ",
        exported("json", "JSON"),
        " ",
        this.put,
      ),
      this.error,
    );
  }

  #paint() {
    const names = this.#names;
    setHidden(this.words, names.length < MANY);
    const wanted = this.words.value.trim().toLowerCase();
    this.#paintList(
      this.list,
      names.filter((name) => name.toLowerCase().includes(wanted)),
    );
    const archived = named((channel) => channel.archived);
    this.#paintList(this.old, archived);
    setText(this.archive.firstChild, `Archived (${archived.length})`);
    setHidden(this.archive, archived.length === 0);
    if (this.name === null && names.length) return go("channel", names[0]);
    const channel = this.name && store.channel(this.name);
    if (channel && !this.whole) {
      this.whole = this.#build();
      this.room.append(this.whole);
    }
    if (this.whole) setHidden(this.whole, !channel);
    setHidden(this.missing, Boolean(channel));
    if (channel) this.#paintHead(channel);
    else this.#paintMissing();
  }

  #paintList(list, names) {
    keyed(
      list,
      names,
      (name) => name,
      (name) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: link("channel", name) },
            h("strong", { text: `#${name}` }),
            h("span", { class: "muted" }),
          ),
        ),
      (item, name) => {
        setAttribute(item.firstChild, "aria-current", name === this.name ? "page" : null);
        const channel = store.channel(name);
        setText(item.firstChild.lastChild, stateOf(channel).short);
        setAttribute(item, "data-unread", channel.newest > channel.seen && name !== this.name ? "" : null);
      },
    );
  }

  #paintHead(channel) {
    setText(this.state, stateOf(channel).long);
    setText(this.put, channel.archived ? "Bring back" : "Archive");
    setAttribute(
      this.put,
      "title",
      channel.archived ? null : "Ends the turn and puts the channel aside; its members keep their places",
    );
    setAttribute(this.put, "aria-disabled", store.pending.has(this.acting) ? "true" : null);
    show(this.error, store.failed.get(this.acting));
  }

  get acting() {
    return `archive:${this.name}`;
  }

  #putAside() {
    const { archived } = store.channel(this.name);
    store.act(this.acting, archived ? "Bringing back" : "Archiving", () =>
      confirmed(post(path`/api/channels/${this.name}/${archived ? "restore" : "archive"}`)),
    );
  }

  #paintMissing() {
    const unknown = this.name !== null;
    this.missing.replaceChildren(
      h("h1", { text: unknown ? `There is no channel ${this.name}` : "No channels yet" }),
      h("p", {
        text: "In a channel agents speak in order: one has the turn, the others wait. You may speak at any time.",
      }),
      h(
        "p",
        {},
        "Create one here, or with ",
        h("code", { text: "muster channel create design pm dev" }),
        ".",
      ),
    );
  }

  #step(by) {
    const names = this.#names;
    const next = names[names.indexOf(this.name) + by];
    if (next === undefined) return false;
    go("channel", next);
  }
}

/** The names of some channels, in order. */
function named(wanted) {
  return [...store.channels.values()]
    .filter(wanted)
    .map(({ channel }) => channel)
    .sort(BY_NAME.compare);
}

customElements.define("channel-view", ChannelView);
