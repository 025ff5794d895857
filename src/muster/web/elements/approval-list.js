// Open approval requests: the agent, the tool and its input, the timeout, and the two buttons. With a `seat` or a
// `channel`, only the requests of that agent or channel; with `isInbox`, only those that nobody has put off.

import { answer, approvalKey, approvals, otherwise, wants } from "../approvals.js";
import { later, needs } from "../attention.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { everyLine } from "../visible.js";
import { face } from "./agent-face.js";

const LINES_SEEN = 8; // longer input scrolls, with a note

class ApprovalList extends Part {
  start() {
    this.list = h("ul", { "aria-label": "Waiting for your approval" });
    this.replaceChildren(this.list);
    this.watch(["team", "agents", "pending"], () => this.#paint());
    this.tick(() => this.#paintTimes());
    this.key("a", "Go to the first approval request", () => {
      const [first] = this.list.children;
      return first ? first.focus() : false;
    });
  }

  #paint() {
    const all = approvals({ seat: this.seat ?? null, channel: this.channel ?? null });
    const open = this.isInbox ? all.filter(needOf) : all;
    const held = this.list.contains(document.activeElement);
    keyed(
      this.list,
      open,
      ({ id }) => id,
      (each) => this.#row(each),
      (row, each) => update(row, each),
    );
    setHidden(this, open.length === 0);
    if (held && !this.list.contains(document.activeElement))
      (this.list.firstElementChild ?? document.getElementById("main")).focus();
    this.#paintTimes();
  }

  #paintTimes() {
    for (const row of this.list.children) setText(row.rest, otherwise(row.approval));
  }

  #row(approval) {
    const { id, agent, seat, channel } = approval;
    const row = h("li", {
      tabindex: "-1",
      "aria-label": `${agent} ${wants(approval)}`,
      data: { approval: id },
    });
    const lines = approval.detail.split("\n").length;
    const long = lines > LINES_SEEN || approval.detail.length > 600;
    row.approval = approval;
    row.rest = h("span", { class: "rest" });
    row.note = h("input", {
      placeholder: "reason (shown to the agent)",
      "aria-label": `Note for ${agent}`,
      autocomplete: "off",
      maxlength: "500",
    });
    row.allow = button("Allow", "allow", approval, () => answer(approval, true, row.note.value.trim()));
    row.deny = button("Deny", "deny", approval, () => answer(approval, false, row.note.value.trim()));
    row.error = h("p", { class: "error", role: "alert", hidden: true });
    const parts = [
      face(store.agents.get(seat)),
      h(
        "p",
        { class: "asked" },
        h("a", { href: link("agent", agent) }, h("strong", { text: agent })),
        h("span", { class: "wants", text: ` ${wants(approval)}` }),
        channel && [" in ", h("a", { class: "where", href: link("channel", channel), text: `#${channel}` })],
      ),
      row.rest,
      approval.detail &&
        h("pre", {
          text: everyLine(approval.detail),
          ...(long ? { tabindex: "0", role: "group", "aria-label": "Full request" } : {}),
        }),
      long &&
        h("p", {
          class: "age size",
          text: `${lines} lines, ${approval.detail.length} characters: scroll to see all of it`,
        }),
      h(
        "div",
        { class: "answer", data: { acts: "" } },
        row.note,
        row.allow,
        row.deny,
        this.isInbox && button("Later", "quiet later", approval, () => later(needOf(approval))),
      ),
      row.error,
    ];
    row.append(...parts.filter(Boolean));
    return row;
  }
}

const needOf = ({ id }) => needs().find(({ approval }) => approval === id);

function button(label, kind, { agent, tool }, press) {
  return h("button", {
    type: "button",
    class: kind,
    text: label,
    "aria-label": `${label} ${agent}: ${tool}`,
    on: { click: press },
  });
}

function update(row, approval) {
  const key = approvalKey(approval);
  const pending = store.pending.get(key);
  for (const [button, label] of [
    [row.allow, "Allow"],
    [row.deny, "Deny"],
  ]) {
    setAttribute(button, "aria-disabled", pending ? "true" : null);
    setText(button, pending?.label === label ? `${label} …` : label);
  }
  setText(row.error, store.failed.get(key) ?? "");
  setHidden(row.error, !store.failed.has(key));
}

customElements.define("approval-list", ApprovalList);
