// Open approval requests: the agent, the tool and its input, the timeout, and the two buttons. With a `seat` or a
// `channel`, only the requests of that agent or channel; with `only`, one request; with `isInbox`, only those that nobody has put off.

import {
  answer,
  answerAll,
  answered,
  approvalKey,
  approvals,
  otherwise,
  permissions,
  wants,
} from "../approvals.js";
import { later, needs } from "../attention.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { draftKey, dropDraft, keepDraft } from "../drafts.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { Steady } from "../steady.js";
import { store } from "../store.js";
import { everyLine, visible } from "../visible.js";
import { face } from "./agent-face.js";
import { openDialog } from "./dialog.js";

const LINES_SEEN = 8; // longer input scrolls, with a note
const TOLD_MS = 3000; // how long a request that was answered elsewhere says so

class ApprovalList extends Part {
  start() {
    this.list = h("ul", { "aria-label": "Waiting for your approval" });
    this.several = this.#bar();
    this.replaceChildren(this.several, this.list);
    // a held Enter presses a button again and again
    this.addEventListener(
      "keydown",
      (event) => event.repeat && event.key === "Enter" && event.preventDefault(),
    );
    this.steady = new Steady((row) => row.approval && update(row, row.approval));
    this.until(() => this.steady.end());
    this.answers = new Map(); // by request: how it was answered
    this.listen((events) => {
      for (const each of events)
        if (each.type === "approval_answered") this.answers.set(each.approval, answered(each));
    });
    this.watch(["team", "agents", "pending"], () => this.#paint());
    this.tick(() => this.#paint());
    this.key("a", "Go to the first approval request", () => {
      const [first] = this.list.children;
      return first ? first.focus() : false;
    });
  }

  #paint() {
    const found = approvals({ seat: this.seat ?? null, channel: this.channel ?? null });
    const all = this.only ? found.filter(({ id }) => id === this.only) : found;
    const open = this.isInbox ? all.filter(needOf) : all;
    const held = document.activeElement.closest("approval-list li");
    const next = held && nextOf(held, new Set(open.map(({ id }) => id)));
    const shown = [...open, ...this.#kept(all, open.length)].sort((a, b) => Number(a.id) - Number(b.id));
    keyed(
      this.list,
      shown,
      ({ id }) => id,
      (each) => this.#row(each),
      (row, each) => this.#update(row, each),
    );
    setHidden(this, shown.length === 0);
    if (this.only && !shown.length) this.closest("dialog").close();
    this.#paintSeveral();
    if (this.list === held?.list) this.#refocus(held, next);
    this.steady.check(this.list.children);
  }

  /** Requests that were answered keep their place for a moment, and as long as the pointer or the focus is there: else
   *  another one would come to where a person is about to press. */
  #kept(all, open) {
    const isOpen = new Set(all.map(({ id }) => id));
    const isPointedAt = this.list.matches(":hover") && matchMedia("(hover: hover)").matches;
    const stays = (row) => {
      row.overSince ??= performance.now();
      if (store.pending.has(approvalKey(row.approval))) return true;
      if (row.isMine) return open > 0 && isPointedAt;
      const isNew = performance.now() - row.overSince < TOLD_MS;
      return isNew || (open > 0 && (isPointedAt || row.contains(document.activeElement)));
    };
    return [...this.list.children]
      .filter((row) => !isOpen.has(row.approval.id) && stays(row))
      .map((row) => row.approval);
  }

  /** Another request has the focus only after an answer by key, and its keys count only when it could have been read. */
  #refocus(held, next) {
    if (held.isConnected && !held.overSince) return;
    if (held.isMine && held.isByKey && next) {
      this.steady.restart(next);
      next.focus();
    } else if (!held.isConnected) document.getElementById("main").focus();
    else if (document.activeElement !== held.note) held.focus({ preventScroll: true });
  }

  #update(row, approval) {
    update(row, approval);
    if (!row.overSince) return setText(row.rest, otherwise(approval));
    setText(row.rest, this.answers.get(approval.id) ?? "Answered");
    delete row.dataset.approval;
    row.classList.add("over");
    row.picked.checked = false;
    row.note.readOnly = true;
    dropDraft(row.draft);
  }

  /** Answer a request whose row could have been read. */
  async #answer(row, event, ...how) {
    if (row.overSince || !this.steady.counts(row)) return;
    row.isByKey = event.detail === 0;
    row.isMine = Boolean(await answer(row.approval, ...how));
  }

  // ── several at once ────────────────────────────────────────────────────────────────────────

  get #picked() {
    return [...this.list.children].filter((row) => row.picked.checked).map((row) => row.approval);
  }

  #paintSeveral() {
    if (!this.isInbox) return;
    const rows = [...this.list.children].filter((row) => !row.overSince);
    const picked = this.#picked;
    setHidden(this.several, this.list.children.length < 2);
    setText(this.allowAll, `Allow ${picked.length}`);
    setText(this.denyAll, `Deny ${picked.length}`);
    for (const each of [this.allowAll, this.denyAll]) setHidden(each, picked.length === 0);
    for (const row of rows) setHidden(row.pick, this.list.children.length < 2);
    this.all.checked = rows.length > 0 && picked.length === rows.length;
  }

  #pickAll() {
    for (const row of this.list.children) row.picked.checked = this.all.checked && !row.overSince;
    this.#paintSeveral();
  }

  #bar() {
    this.all = h("input", { type: "checkbox", on: { change: () => this.#pickAll() } });
    this.allowAll = pushButton("", () => answerAll(this.#picked, true), { class: "allow" });
    this.denyAll = pushButton("", () => answerAll(this.#picked, false), { class: "deny" });
    const all = h("label", {}, this.all, " Select all requests");
    return h(
      "p",
      { class: "several answer", data: { acts: "" }, hidden: true },
      all,
      this.allowAll,
      this.denyAll,
    );
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
    row.draft = draftKey(`note:${id}`, store.agents.get(seat) ?? {});
    keepDraft(row.note, row.draft);
    row.allows = permissions(approval).map(([label, scope]) => {
      const press = (event) => this.#answer(row, event, true, row.note.value.trim(), scope, label);
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
    row.deny = button("Deny", "deny", approval, (event) =>
      this.#answer(row, event, false, row.note.value.trim()),
    );
    row.error = errorLine();
    const buttons = h(
      "div",
      { class: "answer", data: { acts: "" } },
      row.note,
      ...row.allows,
      row.deny,
      row.pick,
      this.isInbox && button("Later", "quiet later", approval, () => later(needOf(approval))),
    );
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
      buttons,
      row.error,
    ];
    row.append(...parts.filter(Boolean));
    row.list = this.list;
    this.steady.guard(row, buttons);
    return row;
  }
}

/** Show one request whole, with the focus on a button of it. */
export function showRequest({ id, agent }, button) {
  const list = Object.assign(document.createElement("approval-list"), { only: id });
  openDialog(`Request of ${agent}`, list);
  list.querySelector(`li ${button}`)?.focus();
}

const needOf = ({ id }) => needs().find(({ approval }) => approval === id);

/** The open row after one that is answered, or else the one before it. */
function nextOf(row, open) {
  const rows = [...row.list.children].filter((each) => each === row || open.has(each.approval.id));
  const at = rows.indexOf(row);
  return rows[at + 1] ?? rows[at - 1];
}

function button(label, kind, { agent, tool }, press) {
  const found = pushButton(label, press, { class: kind, "aria-label": `${label} ${agent}: ${tool}` });
  return Object.assign(found, { label });
}

/** Where the call is made, and what it does as far as muster understands it. */
function consequences({ folder, effects }) {
  if (!folder && !effects.length) return [];
  const grave = (effect) => (/^(deletes|unclear|the text to)/.test(effect) ? "effect grave" : "effect");
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
    setAttribute(button, "aria-disabled", pending || !row.isReady ? "true" : null);
    setText(button, pending?.label === button.label ? `${button.label} …` : button.label);
  }
  show(row.error, store.failed.get(key));
}

customElements.define("approval-list", ApprovalList);
