// The members of a channel in turn order: state, unread count, who speaks next, timeout; and a form to add more. The
// order changes in the strip of the turns.

import { get, patch, path, post, remove } from "../api.js";
import { confirmed, isSelector, turn } from "../channels.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

const COUNT_MAX = 1000; // the server counts no further
const COUNT_MS = 400; // minimum interval between two counts of unread messages

class ChannelMembers extends Part {
  #unread = new Map();
  #counting = null;
  #before = Promise.resolve(); // the change of a timeout that is being sent

  start() {
    this.classList.add("panel");
    this.list = h("ol", { class: "members" });
    this.select = h("select", { "aria-label": "Agent to add" });
    this.add = h(
      "form",
      { class: "row", data: { acts: "operator" }, on: { submit: (event) => this.#join(event) } },
      this.select,
      h("button", { text: "Add" }),
    );
    this.none = h("p", { class: "muted nobody", hidden: true });
    this.barred = h("ul", { class: "barred", "aria-label": "Removed agents" });
    this.error = errorLine();
    this.replaceChildren(
      h("h2", { text: "Members" }),
      this.list,
      this.barred,
      this.add,
      this.none,
      this.error,
    );
    this.watch([`channel:${this.channel}`, "agents", "pending"], () => this.#paint());
    this.watch(`channel:${this.channel}`, () => this.#count());
    this.until(() => clearTimeout(this.#counting));
  }

  get acting() {
    return `members:${this.channel}`;
  }

  // ── painting ─────────────────────────────────────────────────────────────────────────────────

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
    this.#paintOthers(state);
    this.#paintBarred(state);
    show(this.error, store.failed.get(this.acting) ?? store.failed.get(`${this.acting}:timeout`));
  }

  #paintOthers(state) {
    const named = store.shown.filter(({ name, status }) => name && status !== "hatching");
    const others = named.filter(({ name }) => !state.ring.includes(name) && !state.barred.includes(name));
    keyed(
      this.select,
      others,
      ({ seat }) => seat,
      ({ name }) => h("option", { text: name, value: name }),
    );
    setHidden(this.add, others.length === 0 || state.archived);
    setHidden(this.none, others.length > 0 || state.archived);
    if (!others.length) this.#paintNobody(named.length === 0);
  }

  /** Without anybody to add, say how to get somebody. */
  #paintNobody(empty) {
    if (this.none.dataset.empty === String(empty)) return;
    this.none.dataset.empty = String(empty);
    this.none.replaceChildren(
      empty
        ? "There are no agents yet. Register one that connects by itself: "
        : "Every agent is a member. Register another one: ",
      h("code", { text: "muster agent register pm" }),
      "; or let muster run a program: ",
      h("a", { href: link(""), text: empty ? "how to begin" : "see the team" }),
      ".",
    );
  }

  #paintBarred(state) {
    keyed(
      this.barred,
      state.barred,
      (agent) => agent,
      (agent) =>
        h(
          "li",
          {},
          h("span", { class: "name", text: agent }),
          h("span", { class: "badge", text: "barred" }),
          pushButton("Let it back in", () => this.#addMember(agent), {
            class: "quiet",
            data: { acts: "operator" },
            "aria-label": `Let ${agent} back in`,
            title: "A person removed this agent: it cannot join by itself",
          }),
        ),
    );
  }

  #row({ agent, seat }) {
    const parts = {
      state: h("span", { class: "badge" }),
      role: h("span", { class: "role", text: "selector", title: "Chooses the next speaker" }),
      unread: h("span", { class: "unread" }),
      claim: h("span", { class: "claim" }),
      give: pushButton("", () => this.#give(agent), { class: "quiet give", data: { acts: "" } }),
      more: pushButton("⋯", () => this.#toggle(agent), {
        class: "quiet more",
        data: { acts: "operator" },
        title: "More",
        "aria-expanded": "false",
        "aria-label": `More about ${agent}`,
      }),
    };
    const acts = this.#acts(agent);
    const row = h(
      "li",
      { data: { agent } },
      face(store.agents.get(seat) ?? { seat, name: agent }),
      h(
        "div",
        { class: "who" },
        h("a", { class: "name", href: link("agent", agent), text: agent }),
        parts.state,
        parts.role,
        parts.unread,
        parts.claim,
      ),
      parts.give,
      parts.more,
      acts.box,
    );
    row.parts = { ...parts, ...acts };
    return row;
  }

  /** The less frequent actions of a row. */
  #acts(agent) {
    const quiet = (text, label, run) => pushButton(text, run, { class: "quiet", "aria-label": label });
    const hand = quiet("", "", () => this.#raise(agent));
    const leave = quiet("Remove", `Remove ${agent}`, () => this.#leave(agent));
    const timeout = h("input", {
      type: "number",
      min: "0.1",
      step: "any",
      "aria-label": `Turn timeout of ${agent} (s)`,
      on: { change: ({ target }) => this.#setTimeout(agent, target) },
    });
    const box = h(
      "div",
      { class: "acts", hidden: true },
      hand,
      h("label", {}, "Timeout ", timeout, " s"),
      leave,
    );
    return { box, hand, leave, timeout };
  }

  #paintRow({ parts }, member, state) {
    const { agent } = member;
    const isReady = store.agents.get(member.seat)?.badge.group === "idle"; // muster starts it when it has work
    const away = isReady ? "starts for its turn" : "not connected";
    setText(parts.state, member.present ? member.state : away);
    parts.state.dataset.turn = member.present ? member.state : "";
    setHidden(parts.role, !isSelector(state, agent));
    const count = this.#unread.get(agent) ?? 0;
    setText(parts.unread, count ? `${count < COUNT_MAX ? count : `${COUNT_MAX}+`} unread` : "");
    const claimed = state.claims.find((claim) => claim.agent === agent);
    setText(
      parts.claim,
      claimed ? `${claimed === state.claims[0] ? "next" : "waits to speak"}: ${claimed.reason}` : "",
    );
    this.#paintActs(parts, member, claimed, state);
    const busy = store.pending.has(this.acting) || store.pending.has(`turn:${this.channel}`);
    for (const each of [parts.give, parts.hand, parts.leave])
      setAttribute(each, "aria-disabled", busy ? "true" : null);
  }

  #paintActs(parts, member, claimed, state) {
    const { agent } = member;
    const holds = state.holder === agent;
    const free = !state.holder && !state.stopping;
    setText(parts.give, free ? "Give the turn" : "Make next");
    setAttribute(parts.give, "aria-label", free ? `Give the turn to ${agent}` : `${agent} speaks next`);
    setAttribute(parts.give, "title", free ? null : "This member speaks after the present turn");
    const first = claimed?.claim === "person" && claimed === state.claims[0];
    setHidden(parts.give, holds || !member.present || first || isSelector(state, agent) || state.archived);
    const raised = claimed?.claim === "hand";
    setText(parts.hand, raised ? "Lower hand" : "Raise hand");
    setAttribute(parts.hand, "aria-label", `${raised ? "Lower" : "Raise"} the hand of ${agent}`);
    setHidden(parts.hand, holds || (Boolean(claimed) && !raised));
    if (document.activeElement !== parts.timeout) parts.timeout.value = member.timeoutSeconds;
  }

  #toggle(agent) {
    const { parts } = [...this.list.children].find(({ dataset }) => dataset.agent === agent);
    const open = parts.box.hidden;
    setHidden(parts.box, !open);
    setAttribute(parts.more, "aria-expanded", String(open));
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

  // ── acting ───────────────────────────────────────────────────────────────────────────────────

  /** While another member speaks, this one is the next speaker; otherwise it has the turn at once. */
  #give(agent) {
    const busy = store.channel(this.channel)?.holder;
    turn(this.channel, "override", busy ? "Choosing the next speaker" : "Giving the turn", {
      agent,
      to: "ACTIVE",
    });
  }

  #raise(agent) {
    const { claims } = store.channel(this.channel);
    const raised = !claims.some((each) => each.agent === agent && each.claim === "hand");
    store.act(this.acting, raised ? "Raising the hand" : "Lowering the hand", () =>
      confirmed(post(path`/api/channels/${this.channel}/members/${agent}/hand`, { raised })),
    );
  }

  async #setTimeout(agent, input) {
    const timeoutSeconds = input.value === "" ? null : Number(input.value); // empty: the channel's
    this.#before = this.#before.then(() =>
      store.act(`${this.acting}:timeout`, "Changing the timeout", () =>
        confirmed(patch(path`/api/channels/${this.channel}/members/${agent}`, { timeoutSeconds })),
      ),
    );
    if ((await this.#before) && input.value !== "") return this.#paint();
    const member = store.channel(this.channel)?.members.find((each) => each.agent === agent);
    if (member) input.value = member.timeoutSeconds; // reset a refused value
    this.#paint();
  }

  #join(event) {
    event.preventDefault();
    if (this.select.value) this.#addMember(this.select.value);
  }

  #addMember(agent) {
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
