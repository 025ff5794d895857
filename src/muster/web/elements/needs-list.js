// "Needs you": what waits for a person, the most urgent first. Answered here, with the mouse or the keyboard.

import "./approval-list.js";
import { meant, newKey } from "../api.js";
import { about, answer, done, goOn, later, needKey, needs, reason, undo, undoable } from "../attention.js";
import { secondsSince, span } from "../clock.js";
import { errorLine, h, keyed, pushButton, setHidden, setText, show } from "../dom.js";
import { draftKey, keepDraft, settleDraft } from "../drafts.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { allControlsOf, controlsOf, press } from "../run.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { face } from "./agent-face.js";

const WHY_CHARS = 300;
const MARKS = /\x60{3}\w*|\x60|\*\*|\|?(?: *:?-{3,}:? *\|)+/g; // of Markdown, which is no use in a line
const ANSWERED = new Set(["question", "held", "message"]); // with words

class NeedsList extends Part {
  left = 0; // the place of the row that had the focus and is gone
  back = null; // the need that was taken back

  start() {
    this.heading ??= h("h2", { id: "needs" });
    this.list ??= h("ul", { "aria-labelledby": "needs" });
    this.undone ??= h("p", { class: "undo", role: "status", hidden: true });
    this.requests = Object.assign(document.createElement("approval-list"), { isInbox: true });
    this.replaceChildren(this.heading, this.requests, this.list, this.undone);
    const paint = () => this.#paint();
    this.watch(["team", "agents", "channels", "pending"], paint);
    this.tick(paint);
    this.key("n", "Go to the first agent that needs you", () => {
      const [first] = needs();
      return first ? go(...about(first).place) : false;
    });
    this.key("j", "Next thing that needs you", () => this.#move(1));
    this.key("k", "Previous thing that needs you", () => this.#move(-1));
    this.actKey("y", "Allow the request", () => this.#press(".allow"));
    this.actKey("x", "Deny the request", () => this.#press(".deny"));
    this.actKey("r", "Answer it", () => (this.#press(".reply") === false ? this.#note() : true));
    this.actKey("h", "Put it off for an hour", () => this.#press(".later"));
    this.actKey("e", "Put it aside as done", () => this.#press(".done"));
    this.actKey("u", "Undo", () => (undoable() ? this.#undo() : false));
  }

  // ── the keyboard ─────────────────────────────────────────────────────────────────────────────

  get #rows() {
    return [...this.querySelectorAll("li[tabindex]")];
  }

  get #row() {
    const row = document.activeElement?.closest?.("li[tabindex]");
    return row && this.contains(row) ? row : null;
  }

  #move(by) {
    const rows = this.#rows;
    if (!rows.length) return false;
    const here = rows.indexOf(this.#row);
    const at = here < 0 ? this.left - (by > 0) : here; // the row that had the focus is gone
    this.left = 0;
    rows[(at + by + rows.length) % rows.length].focus();
  }

  #press(what) {
    const button = this.#row?.querySelector(what);
    return button ? button.click() : false;
  }

  #note() {
    const note = this.#row?.querySelector("input");
    return note ? note.focus() : false;
  }

  async #undo() {
    const { need } = undoable();
    if (await undo()) this.back = need;
    this.#paint();
  }

  /** What was taken back has the focus again. */
  #goBack() {
    const { approval, key } = this.back;
    const row = approval
      ? this.querySelector(`[data-approval="${approval}"]`)
      : this.list.keyedChildren.get(key);
    if (!row) return;
    this.back = null;
    row.focus();
  }

  // ── painting ─────────────────────────────────────────────────────────────────────────────

  #paint() {
    const found = needs();
    const at = this.#rows.indexOf(this.#row);
    const isEmpty = found.length === 0 && this.requests.hidden; // it still tells how requests were answered
    // An element that is hidden loses the focus silently.
    if (isEmpty && this.contains(document.activeElement)) document.getElementById("main").focus();
    setHidden(this, isEmpty && !undoable());
    setText(this.heading, `Needs you (${found.length})`);
    const held = this.list.contains(document.activeElement);
    const typing = held ? document.activeElement.draft : undefined;
    keyed(
      this.list,
      found.filter(({ kind }) => kind !== "approval"), // shown by approval-list above
      ({ key }) => key,
      (need) => this.#build(need),
      (row, need) => this.#update(row, need),
    );
    if (held && !this.#row) {
      if (typing) this.#typeOn(typing, at);
      else this.#rows[Math.min(at, this.#rows.length - 1)]?.focus();
    }
    if (this.back) this.#goBack();
    this.#paintUndo();
  }

  /** Go on typing in the row that follows the one that is gone; in no row, where a letter would press a button. */
  #typeOn(typing, at) {
    const field = [...this.list.querySelectorAll("input")].find(({ draft }) => draft === typing);
    if (!field) this.left = at;
    (field ?? document.getElementById("main")).focus();
    field?.setSelectionRange(field.value.length, field.value.length);
  }

  #build(need) {
    const { name, place } = about(need);
    const row = h("li", { tabindex: "-1", data: { kind: need.kind }, "aria-label": `${name} ${need.what}` });
    row.toggleAttribute("data-closed", !store.mayActOn(need));
    row.why = h("span", { class: "why" });
    row.age = h("span", { class: "age" });
    row.error = errorLine();
    const agent = store.agents.get(need.seat);
    const where = need.channel && place[0] !== "channel" ? ` in #${need.channel}` : "";
    row.form = ANSWERED.has(need.kind) ? this.#form(row, need, name) : null;
    row.append(
      ...(agent ? [face(agent)] : []),
      h("a", { href: link(...place) }, h("strong", { text: name }), ` ${need.what}${where}`),
      row.why,
      row.age,
      row.form && store.mayActOn(need)
        ? act("button reply", "Answer", `Answer ${name}`, () => this.#open(row))
        : h("a", {
            class: "button reply",
            href: link(...place),
            text: "Look",
            "aria-label": `Look at ${name}`,
          }),
      ...(need.kind === "unanswered"
        ? [act("button again", "Try again", `Try again: ${name}`, () => again(need))]
        : []),
      ...(need.kind === "failed" && oneMore(need)
        ? [act("button again", "Run again", `Run again: ${name}`, () => runAgain(need))]
        : []),
      ...(need.canGoOn ? [act("button more", more(need), `${more(need)}: ${name}`, () => goOn(need))] : []),
      act("later", "Later", `Put off for an hour: ${name}`, () => later(need)),
      ...(need.canBeDone ? [doneButton(need, name)] : []),
      ...(row.form ? [row.form] : []),
      row.error,
    );
    return row;
  }

  /** The answer is written in the row, and goes where the question came from. */
  #form(row, need, name) {
    row.text = h("input", {
      "aria-label": `Answer to ${name}`,
      placeholder: "Enter sends",
      autocomplete: "off",
    });
    // another message of the agent is another need, with a row of its own: what is typed goes over to it
    const agent = store.agents.get(need.seat) ?? { seat: need.seat };
    const draft = draftKey(`answer:${need.channel ?? ""}`, agent);
    const receiver = meant(agent);
    row.text.draft = draft;
    keepDraft(row.text, draft);
    const send = async (event) => {
      event.preventDefault();
      const message = row.text.value.trim();
      if (!message) return;
      if (!(await store.act(needKey(need), "Answer", () => answer(need, receiver, message, newKey()))))
        return;
      if (settleDraft(row.text, draft, message)) row.text.value = "";
    };
    return h(
      "form",
      { hidden: !row.text.value, on: { submit: send } },
      row.text,
      h("button", { text: "Send" }),
    );
  }

  #open(row) {
    setHidden(row.form, !row.form.hidden);
    if (row.form.hidden) row.focus();
    else row.text.focus();
  }

  #update(row, need) {
    setText(row.why, visible(reason(need).replace(MARKS, ""), WHY_CHARS));
    setText(row.age, need.since ? `for ${span(secondsSince(need.since))}` : "");
    const failed = store.failed.get(needKey(need));
    show(row.error, failed);
  }

  #paintUndo() {
    const last = undoable();
    setHidden(this.undone, !last);
    if (this.shown === last) return;
    this.shown = last;
    if (!last) return this.undone.replaceChildren();
    const { need, label } = last;
    const how = label === "Done" ? "Done" : "Put off for an hour";
    this.undone.replaceChildren(
      h("span", { text: `${how}: ${about(need).name} ${need.what}. ` }),
      pushButton("Undo (u)", () => this.#undo(), { class: "quiet" }),
    );
  }
}

const more = ({ channel }) => (channel ? "Go on for 10 turns" : "Go on for 10 pieces of work");

/** A limit has stopped the work already: to put it aside is to leave it at that. */
const doneButton = (need, name) => {
  const label = need.canGoOn ? "End it" : "Done";
  return act("done", label, `${label}: ${name}`, () => done(need));
};

/** Hand a message over once more that was left unanswered. */
function again({ seat }) {
  const agent = store.agents.get(seat);
  const control = controlsOf(agent).find(({ act }) => act === "retry");
  if (control) press(agent, control);
}

/** The control that runs a session which failed once more. */
const oneMore = ({ seat }) =>
  allControlsOf(store.agents.get(seat)).find(({ act, desired }) => act === "run" && desired === "run_once");

function runAgain(need) {
  const control = oneMore(need);
  if (control) press(store.agents.get(need.seat), control);
}

function act(kind, label, name, press) {
  return pushButton(label, press, {
    data: { acts: "" },
    class: kind.includes("button") ? kind : `quiet ${kind}`,
    "aria-label": name,
  });
}

customElements.define("needs-list", NeedsList);
