// The members of a channel in turn order, with state and unread count, and a form to add more.

import { get, path, post, remove } from "../api.js";
import { confirmed, turn } from "../channels.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const COUNT_MS = 400; // minimum interval between two counts of unread messages

class ChannelMembers extends Part {
  #unread = new Map();
  #counting = null;

  start() {
    this.classList.add("panel");
    this.list = h("ol", { class: "members" });
    this.select = h("select", { "aria-label": "Agent to add" });
    this.add = h(
      "form",
      { class: "row", on: { submit: (event) => this.#join(event) } },
      this.select,
      h("button", { text: "Add" }),
    );
    this.error = h("p", { class: "error", role: "alert" });
    this.replaceChildren(h("h2", { text: "Members" }), this.list, this.add, this.error);
    this.watch([`channel:${this.channel}`, "agents", "pending"], () => this.#paint());
    this.watch(`channel:${this.channel}`, () => this.#count());
    this.until(() => clearTimeout(this.#counting));
  }

  get acting() {
    return `members:${this.channel}`;
  }

  #paint() {
    const state = store.channel(this.channel);
    if (!state) return;
    keyed(
      this.list,
      state.members,
      ({ agent }) => agent,
      (member) => this.#row(member),
      (row, member) => this.#paintRow(row, member, state),
    );
    const others = store.shown.filter(
      ({ name, status }) => name && status !== "hatching" && !state.ring.includes(name),
    );
    keyed(
      this.select,
      others,
      ({ seat }) => seat,
      ({ name }) => h("option", { text: name, value: name }),
    );
    setHidden(this.add, others.length === 0);
    setText(this.error, store.failed.get(this.acting) ?? "");
  }

  #row({ agent, seat }) {
    const parts = {
      state: h("span", { class: "badge" }),
      unread: h("span", { class: "unread" }),
      give: h("button", {
        type: "button",
        class: "quiet",
        text: "Give the turn",
        on: { click: () => turn(this.channel, "override", "Giving the turn", { agent, to: "ACTIVE" }) },
      }),
      leave: h("button", {
        type: "button",
        class: "quiet",
        text: "✕",
        title: "Remove",
        "aria-label": `Remove ${agent}`,
        on: { click: () => this.#leave(agent) },
      }),
    };
    const row = h(
      "li",
      {},
      face(store.agents.get(seat) ?? { seat, name: agent }),
      h("a", { class: "name", href: link("agent", agent), text: agent }),
      parts.state,
      parts.unread,
      parts.give,
      parts.leave,
    );
    row.parts = parts;
    return row;
  }

  #paintRow({ parts }, member, state) {
    setText(parts.state, member.present ? member.state : `${member.state}, away`);
    parts.state.dataset.turn = member.state;
    const count = this.#unread.get(member.agent) ?? 0;
    setText(parts.unread, count ? `${count} unread` : "");
    setHidden(parts.give, Boolean(state.holder || state.stopping));
    setAttribute(parts.give, "aria-label", `Give the turn to ${member.agent}`);
    for (const each of [parts.give, parts.leave])
      setAttribute(each, "aria-disabled", store.pending.has(this.acting) ? "true" : null);
  }

  /** Unread counts come from the server, which computes them for one channel at a time. */
  #count() {
    this.#counting ??= setTimeout(async () => {
      const state = await get(path`/api/channels/${this.channel}`).catch(() => null);
      this.#counting = null;
      if (!state || !this.isConnected) return;
      this.#unread = new Map(state.members.map(({ agent, unread }) => [agent, unread]));
      this.#paint();
    }, COUNT_MS);
  }

  #join(event) {
    event.preventDefault();
    const agent = this.select.value;
    if (agent)
      store.act(this.acting, "Adding", () =>
        confirmed(post(path`/api/channels/${this.channel}/members`, { agent })),
      );
  }

  #leave(agent) {
    store.act(this.acting, "Removing", () =>
      confirmed(remove(path`/api/channels/${this.channel}/members/${agent}`)),
    );
  }
}

customElements.define("channel-members", ChannelMembers);
