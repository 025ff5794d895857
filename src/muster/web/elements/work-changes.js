// The changes of an agent or a task: files with added and removed lines, their diffs, and what becomes of them. `owner`
// is the path of either in the API.

import { get, newKey, path, say } from "../api.js";
import { confirmed } from "../channels.js";
import { moment } from "../clock.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { dropDraft, keepDraft, settleDraft } from "../drafts.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { diffTable } from "./diff-table.js";

const WIDE_PX = 720; // two columns of code fit from here on
const SOON_MS = 1200;
const CHANGE = { created: "new", changed: "", deleted: "deleted" };

class WorkChanges extends Part {
  start() {
    this.open ??= new Map(); // diffs that a person has opened, by file
    this.head = h("p", { class: "standing", role: "status" });
    this.note = h("p", { class: "muted", hidden: true });
    this.conflict = h("p", { class: "error", hidden: true });
    this.list = h("ul", { class: "changed", "aria-label": "Changed files" });
    this.more = h("p", { class: "muted", hidden: true });
    this.error = errorLine();
    this.buttons = h("p", { class: "acts", data: { acts: "" } });
    this.form = h("div", { data: { acts: "" }, hidden: true });
    this.turns = h("select", {
      class: "turns",
      "aria-label": "Changes of",
      hidden: true,
      on: { change: () => this.#load() },
    });
    this.replaceChildren(
      ...(this.heading ? [h("h2", { text: this.heading })] : []),
      this.turns,
      this.head,
      this.note,
      this.conflict,
      this.buttons,
      this.form,
      this.error,
      this.list,
      this.more,
    );
    this.listen((events) => events.some((event) => this.#concerns(event)) && this.#soon());
    this.watch(["pending", "agents"], () => this.#paintActs());
    const sized = new ResizeObserver(() => this.#resize());
    sized.observe(this);
    this.until(() => sized.disconnect());
    this.until(() => clearTimeout(this.timer));
    this.#load();
  }

  #concerns({ type, seat, kind, conversation }) {
    if (type.startsWith("workspace_") || type === "session_end") return true;
    if (this.seat === undefined)
      return type === "conversation_end" && this.owner.endsWith(`/${conversation}`);
    return (
      seat === this.seat && (type === "session_result" || (type === "agent_activity" && kind === "tool_done"))
    );
  }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#load(), SOON_MS);
  }

  /** The part of an address that says of which turn. */
  get #turn() {
    return this.turns.value ? `?turn=${this.turns.value}` : "";
  }

  async #load() {
    const [found, { turns }] = await Promise.all([
      get(`${this.owner}/changes${this.#turn}`).catch((problem) => ({ problem })),
      get(`${this.owner}/turns`).catch(() => ({ turns: [] })),
    ]);
    if (!this.isConnected) return;
    this.found = found;
    this.#paintTurns(turns);
    this.#paint();
    for (const [file, shown] of this.open) if (shown) this.#show(file);
  }

  // ── painting ─────────────────────────────────────────────────────────────────────────────

  #paint() {
    const { problem, note, files = [], more, workspace } = this.found;
    if (this.optional) setHidden(this, !this.turns.value && (Boolean(problem) || !workspace));
    setText(this.head, problem ? "" : standing(this.found));
    setText(this.note, problem?.message ?? note ?? "");
    setHidden(this.note, !this.note.textContent);
    const conflict = workspace?.conflict?.length
      ? `Conflicts: ${workspace.conflict.map((each) => visible(each)).join(", ")}. Nothing was changed.`
      : "";
    setText(this.conflict, conflict || (workspace?.state === "open" ? visible(workspace.problem) : ""));
    setHidden(this.conflict, !this.conflict.textContent);
    keyed(
      this.list,
      files,
      ({ file }) => file,
      (each) => this.#row(each),
      (row, each) => update(row, each),
    );
    setText(this.more, more ? `${more} more files` : "");
    setHidden(this.more, !more);
    this.#paintActs();
  }

  #paintTurns(turns) {
    keyed(
      this.turns,
      [{ turn: "" }, ...turns],
      ({ turn }) => turn,
      ({ turn, label, at }) =>
        h("option", { value: turn, text: turn ? `${moment(at)}, ${visible(label, 60)}` : "All changes" }),
    );
    setHidden(this.turns, turns.length === 0);
  }

  #row({ file, path: name }) {
    const row = h("li");
    row.button = pushButton("", () => this.#toggle(file, row), { class: "file", "aria-expanded": "false" });
    row.name = h("span", { class: "path", text: visible(name) });
    row.state = h("span", { class: "badge" });
    row.plus = h("span", { class: "plus" });
    row.minus = h("span", { class: "minus" });
    row.about = h("span", { class: "muted" });
    row.button.append(row.name, row.plus, row.minus);
    row.diff = h("div", { hidden: true });
    row.append(row.button, row.state, row.about, row.diff);
    row.file = file;
    return row;
  }

  #toggle(file, row) {
    const opening = row.diff.hidden;
    setHidden(row.diff, !opening);
    setAttribute(row.button, "aria-expanded", String(opening));
    this.open.set(file, opening);
    if (opening) this.#show(file);
  }

  async #show(file) {
    const row = [...this.list.children].find((each) => each.file === file);
    if (!row) return;
    const diff = await get(`${this.owner}/changes/${file}${this.#turn}`).catch((problem) => ({ problem }));
    row.content = diff;
    this.#paintDiff(row);
  }

  #paintDiff(row) {
    const { content } = row;
    if (!content) return;
    if (content.problem)
      return row.diff.replaceChildren(h("p", { class: "error", text: content.problem.message }));
    const may = !store.reader && this.found.workspace?.state === "open";
    const ask = may ? (line) => this.#ask(content.file.path, line) : null;
    row.diff.replaceChildren(diffTable(content, this.wide, ask));
  }

  #resize() {
    const wide = this.clientWidth >= WIDE_PX;
    if (wide === this.wide) return;
    this.wide = wide;
    for (const row of this.list.children) this.#paintDiff(row);
  }

  // ── acting ───────────────────────────────────────────────────────────────────────────────

  get #key() {
    return `workspace:${this.found.workspace.workspace}`;
  }

  #paintActs() {
    const workspace = this.found?.workspace;
    const isOpen = workspace?.state === "open";
    setHidden(this.buttons, !isOpen);
    if (!isOpen) return this.form.querySelector("textarea")?.value || setHidden(this.form, true);
    const busy = store.pending.get(this.#key)?.label;
    const failed = store.failed.get(this.#key) ?? "";
    show(this.error, failed);
    const { total, behind, target } = this.found;
    const acts = [
      ["Merge", store.operates && total.files > 0, () => this.#merge(), `Merge into ${target}`],
      ["Rebase", store.operates && behind > 0, () => this.#act("rebase", "Rebase"), `Rebase onto ${target}`],
      ["Ask for changes", true, () => this.#ask(), "Ask the agent for changes"],
      [
        "Discard",
        store.operates && !workspace.working,
        () => this.#discard(),
        "Remove the worktree and its branch",
      ],
    ];
    const now = whileItRuns(workspace);
    const told = JSON.stringify([acts.map(([name, can]) => [name, can]), busy, now]);
    if (this.told === told) return;
    this.told = told;
    this.buttons.replaceChildren(
      ...acts.map(([name, can, press, title]) =>
        pushButton(busy === name ? `${name} …` : name, press, {
          class: name === "Merge" ? "main" : name === "Discard" ? "stop" : "",
          title,
          disabled: Boolean(busy) || !can,
        }),
      ),
      now ? h("span", { class: "muted", text: now }) : "",
    );
  }

  async #act(step, label, body = {}) {
    const { workspace } = this.found.workspace;
    const place = path`/api/workspaces/${workspace}/${step}`;
    const done = await store.act(this.#key, label, () => confirmed(say(place, body, newKey())));
    setHidden(this.form, true);
    await this.#load();
    return done;
  }

  #discard() {
    const { total } = this.found;
    const what = total.files ? `${count(total)} that are not merged` : "no changes";
    const force = total.files > 0;
    const discard = () => this.#act("discard", "Discard", { force });
    const label = force ? "Discard unmerged work" : "Discard it";
    this.#confirm(`Discard the worktree and its branch, with ${what}?`, label, discard, "stop");
  }

  #merge() {
    const target = visible(this.found.target, 60);
    const merge = () => this.#act("merge", "Merge");
    this.#confirm(`Merge ${count(this.found.total)} into ${target}?`, `Merge into ${target}`, merge, "main");
  }

  /** Ask before a step that the page cannot take back. */
  #confirm(question, label, act, kind) {
    this.form.replaceChildren(
      h("p", { text: question }),
      pushButton(label, act, { class: kind }),
      pushButton("Keep it", () => setHidden(this.form, true), { class: "quiet" }),
    );
    setHidden(this.form, false);
    this.form.querySelector("button").focus();
  }

  #ask(name = "", line = null) {
    const where = name ? ` in ${visible(name, 80)}${line ? `, line ${line}` : ""}` : "";
    const { workspace } = this.found.workspace;
    const draft = `draft:ask:${workspace}`;
    const text = h("textarea", { rows: "2", "aria-label": `Changes that you ask for${where}` });
    keepDraft(text, draft);
    const cancel = () => {
      dropDraft(draft);
      setHidden(this.form, true);
    };
    const send = async (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      const body = { text: text.value.trim(), path: name, ...(line ? { line } : {}) };
      const place = path`/api/workspaces/${workspace}/ask`;
      const asked = await store.act(this.#key, "Ask for changes", () => say(place, body, newKey()));
      if (asked && settleDraft(text, draft, body.text)) setHidden(this.form, true);
    };
    this.form.replaceChildren(
      h(
        "form",
        { on: { submit: send } },
        h("p", { text: `Ask for changes${where}` }),
        text,
        h("button", { text: "Send" }),
        pushButton("Cancel", cancel, { class: "quiet" }),
      ),
    );
    setHidden(this.form, false);
    text.focus();
  }
}

/** What a person must know of the session in a workspace of an agent before a press; empty if nothing. */
function whileItRuns({ working, conversation, agent }) {
  if (!working || conversation !== null) return "";
  const isBusy = store.agent(agent)?.badge.group === "working";
  return isBusy ? "It is at work: a merge takes what is there now." : "To discard it, stop the agent first.";
}

const count = ({ files, insertions, deletions }) =>
  `${files === 1 ? "1 file" : `${files} files`}, +${insertions} −${deletions}`;

/** Where the work stands, in a sentence. */
function standing({ kind, branch, target, total, behind, workspace }) {
  if (kind === "none") return "";
  const size = total.files ? count(total) : "no changes";
  const where = `${visible(branch || "no branch", 60)}, compared with ${visible(target, 60)}`;
  const late = behind ? `, ${behind === 1 ? "1 commit" : `${behind} commits`} behind` : "";
  if (workspace?.state === "closed")
    return `${workspace.merged ? "Merged" : "Closed"}: ${size} on ${visible(branch, 60)}`;
  if (workspace && workspace.state !== "open") return `${visible(branch, 60)}: ${workspace.state} …`;
  return `${where}${late}: ${size}`;
}

function update(row, { change, insertions, deletions, binary, link, touched, others, before }) {
  setText(row.state, link ? "link" : CHANGE[change]);
  setHidden(row.state, !row.state.textContent);
  setText(row.plus, binary ? "" : `+${insertions}`);
  setText(row.minus, binary ? "binary" : `−${deletions}`);
  const about = [
    before && `was ${visible(before)}`,
    touched && "named by its tool calls",
    others.length && `also changed by ${others.map((each) => visible(each, 40)).join(", ")}`,
  ].filter(Boolean);
  setText(row.about, about.join(" · "));
  setHidden(row.about, !about.length);
}

customElements.define("work-changes", WorkChanges);
