// The view of a channel: members, turn and timeout, messages, and the controls of a person.

import "../elements/approval-list.js";
import "../elements/channel-members.js";
import "../elements/channel-post.js";
import "../elements/channel-ring.js";
import "../elements/channel-rules.js";
import "../elements/channel-thread.js";
import { post } from "../api.js";
import { confirmed, stateOf } from "../channels.js";
import { spentInFull } from "../costs.js";
import { h, keyed, loadStyle, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { store } from "../store.js";

loadStyle("channel");

class ChannelView extends Part {
  start() {
    const [asked] = this.params;
    this.name = asked ?? [...store.channels.keys()].sort()[0] ?? null;
    this.list = h("ul", { class: "channels" });
    this.missing = h("section", { class: "empty", hidden: true });
    this.room = h("div", { class: "room" }, this.missing);
    this.whole = null; // built once the channel exists
    this.replaceChildren(
      h(
        "section",
        { class: "panel side", "aria-label": "Channels" },
        h("h2", { text: "Channels" }),
        this.list,
        newChannel(),
      ),
      this.room,
    );
    this.watch("channels", () => this.#paint());
    this.key("[", "Previous channel", () => this.#step(-1));
    this.key("]", "Next channel", () => this.#step(1));
  }

  #build() {
    const part = (tag) => Object.assign(document.createElement(tag), { channel: this.name });
    this.state = h("p", { class: "muted" });
    this.cost = h("p", { class: "cost muted", hidden: true });
    const head = h("header", { class: "head" }, h("h1", { text: `#${this.name}` }), this.state, this.cost);
    const asked = part("approval-list");
    asked.className = "panel";
    return h(
      "div",
      { class: "whole" },
      head,
      asked,
      h("div", { class: "column" }, part("channel-ring"), part("channel-members"), part("channel-rules")),
      h("div", { class: "column talk" }, part("channel-thread"), part("channel-post")),
    );
  }

  #paint() {
    const names = [...store.channels.keys()].sort();
    keyed(
      this.list,
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
        setText(item.firstChild.lastChild, stateOf(store.channel(name)).short);
      },
    );
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

  #paintHead(channel) {
    setText(this.state, stateOf(channel).long);
    const used = spentInFull(channel.used);
    const limits = [
      channel.config.maxCostUsd && `$${channel.config.maxCostUsd}`,
      channel.config.maxTokens && `${channel.config.maxTokens.toLocaleString("en")} tokens`,
    ].filter(Boolean);
    setText(this.cost, `used ${used}${limits.length ? ` of at most ${limits.join(" or ")}` : ""}`);
    setHidden(this.cost, !used);
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
    const names = [...store.channels.keys()].sort();
    const next = names[names.indexOf(this.name) + by];
    if (next === undefined) return false;
    go("channel", next);
  }
}

/** A form that creates a channel and shows it. */
function newChannel() {
  const name = h("input", {
    name: "channel",
    placeholder: "name",
    "aria-label": "Name of the new channel",
    autocomplete: "off",
    maxlength: "64",
    required: true,
  });
  const error = h("p", { class: "error", role: "alert" });
  const open = async (event) => {
    event.preventDefault();
    const channel = name.value.trim();
    if (!channel) return;
    const opened = await store.act("channel:new", "Creating", () =>
      confirmed(post("/api/channels", { channel })),
    );
    setText(error, store.failed.get("channel:new") ?? "");
    if (opened) go("channel", channel);
  };
  return h("form", { class: "row", on: { submit: open } }, name, h("button", { text: "Create" }), error);
}

customElements.define("channel-view", ChannelView);
