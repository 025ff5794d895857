// Open approval requests: the agent, the tool and its input, the timeout, and the two buttons. With a `seat` or a
// `channel`, only the requests of that agent or channel; with `isInbox`, only those that nobody has put off.

import { answer, answerAll, approvalKey, approvals, otherwise, permissions, wants } from "../approvals.js";
import { later, needs } from "../attention.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { everyLine, visible } from "../visible.js";
import { face } from "./agent-face.js";

const LINES_SEEN = 8; // longer input scrolls, with a note

class ApprovalList extends Part {
  start() {
    this.list = h("ul", { "aria-label": "Waiting for your approval" });
    this.several = this.#bar();
    this.replaceChildren(this.several, this.list);
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
    this.#paintSeveral();
    if (held && !this.list.contains(document.activeElement))
      (this.list.firstElementChild ?? document.getElementById("main")).focus();
    this.#paintTimes();
  }

  // ── several at once ────────────────────────────────────────────────────────────────────────

  get #picked() {
    return [...this.list.children].filter((row) => row.picked.checked).map((row) => row.approval);
  }

  #paintSeveral() {
    if (!this.isInbox) return;
    const rows = [...this.list.children];
    const picked = this.#picked;
    setHidden(this.several, rows.length < 2);
    setText(this.allowAll, `Allow ${picked.length}`);
    setText(this.denyAll, `Deny ${picked.length}`);
    for (const each of [this.allowAll, this.denyAll]) setHidden(each, picked.length === 0);
    for (const row of rows) setHidden(row.pick, rows.length < 2);
    this.all.checked = rows.length > 0 && picked.length === rows.length;
  }

  #pickAll() {
    for (const row of this.list.children) row.picked.checked = this.all.checked;
    this.#paintSeveral();
  }

  #bar() {
    this.all = h("input", { type: "checkbox", on: { change: () => this.#pickAll() } });
    this.allowAll = pushButton("", () => answerAll(this.#picked, true), { class: "allow" });
    this.denyAll = pushButton("", () => answerAll(this.#picked, false), { class: "deny" });
    const all = h("label", {}, this.all, " All requests");
    return h(
      "p",
      { class: "several answer", data: { acts: "" }, hidden: true },
      all,
      this.allowAll,
      this.denyAll,
    );
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
    row.toggleAttribute("data-closed", !store.mayActOn({ seat }));
    const lines = approval.detail.split("\n").length;
    const long = lines > LINES_SEEN || approval.detail.length > 600;
    row.who = h("a", {}, h("strong"));
    row.rest = h("span", { class: "rest" });
    row.note = h("input", {
      placeholder: "reason (shown to the agent)",
      "aria-label": `Note for ${agent}`,
      autocomplete: "off",
      maxlength: "500",
    });
    row.allows = permissions(approval).map(([label, scope]) => {
      const press = () => answer(approval, true, row.note.value.trim(), scope, label);
      const found = button(label, scope === "once" ? "allow" : "allow further", approval, press);
      if (scope !== "once") found.title = `${label}: ${approval.rules.join(", ")}`;
      return found;
    });
    row.picked = h("input", {
      type: "checkbox",
      "aria-label": `Select ${agent}: ${approval.tool}`,
      on: { change: () => this.#paintSeveral() },
    });
    row.pick = h("label", { class: "pick", hidden: true }, row.picked, " Select");
    row.deny = button("Deny", "deny", approval, () => answer(approval, false, row.note.value.trim()));
    row.error = errorLine();
    const parts = [
      face(store.agents.get(seat)),
      h(
        "p",
        { class: "asked" },
        row.who,
        h("span", { class: "wants", text: ` ${wants(approval)}` }),
        channel && [" in ", h("a", { class: "where", href: link("channel", channel), text: `#${channel}` })],
      ),
      row.rest,
      ...consequences(approval),
      approval.change
        ? changed(approval.change)
        : approval.detail &&
          h("pre", {
            text: everyLine(approval.detail),
            ...(long ? { tabindex: "0", role: "group", "aria-label": "Full request" } : {}),
          }),
      long &&
        !approval.change &&
        h("p", {
          class: "age size",
          text: `${lines} lines, ${approval.detail.length} characters: scroll to see all of it`,
        }),
      h(
        "div",
        { class: "answer", data: { acts: "" } },
        row.note,
        ...row.allows,
        row.deny,
        row.pick,
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
  const found = pushButton(label, press, { class: kind, "aria-label": `${label} ${agent}: ${tool}` });
  return Object.assign(found, { label });
}

/** Where the call is made, and what it does as far as muster understands it. */
function consequences({ folder, effects }) {
  if (!folder && !effects.length) return [];
  const grave = (effect) => (/^(deletes|unclear)/.test(effect) ? "effect grave" : "effect");
  return [
    h(
      "p",
      { class: "effects" },
      folder && h("span", { class: "folder", text: `in ${visible(folder, 200)}` }),
      ...effects.map((each) => h("span", { class: grave(each), text: visible(each, 200) })),
    ),
  ];
}

/** The difference of a file, as the unified diff that the server computed. */
function changed(change) {
  const kind = (line) => (/^\+(?!\+\+ )/.test(line) ? "added" : /^-(?!-- )/.test(line) ? "gone" : "");
  const lines = change
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => h("span", { class: kind(line), text: `${everyLine(line)}\n` }));
  return h(
    "pre",
    { class: "change", tabindex: "0", role: "group", "aria-label": "Change of the file" },
    ...lines,
  );
}

function update(row, approval) {
  row.approval = approval;
  setAttribute(row.who, "href", link("agent", approval.agent));
  setText(row.who.firstChild, approval.agent);
  const key = approvalKey(approval);
  const pending = store.pending.get(key);
  for (const button of [...row.allows, row.deny]) {
    setAttribute(button, "aria-disabled", pending ? "true" : null);
    setText(button, pending?.label === button.label ? `${button.label} …` : button.label);
  }
  show(row.error, store.failed.get(key));
}

customElements.define("approval-list", ApprovalList);
