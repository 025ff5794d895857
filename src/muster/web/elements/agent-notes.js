// The notes of an agent: what it is told in every life. A person reads, adds, edits and deletes them. Text that is
// typed stays when the agent or another person changes notes meanwhile.

import { get, idOf, path, post, put, remove } from "../api.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { draftKey, draftOf, draftsOf, dropDraft, keepDraft, settleDraft } from "../drafts.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const TYPES = new Set(["note_remembered", "note_edited", "note_forgotten"]);

class AgentNotes extends Part {
  #asked = 0;

  start() {
    const agent = store.agents.get(this.seat);
    this.drafts = draftKey("note:", agent);
    this.newDraft = draftKey("new-note", agent);
    this.list = h("ul", { class: "notes" });
    this.none = h("p", {
      class: "muted",
      text: "No notes yet. The agent writes them with its tool remember.",
    });
    this.error = errorLine();
    this.box = h("textarea", { rows: "2" });
    keepDraft(this.box, this.newDraft);
    const form = h(
      "form",
      { data: { acts: "operator" }, on: { submit: (event) => this.#add(event) } },
      this.box,
      h("button", { type: "submit", text: "Add note" }),
    );
    this.replaceChildren(
      h("p", { class: "muted", text: "Given to the agent whenever it wakes." }),
      this.none,
      this.list,
      form,
      this.error,
    );
    this.listen(
      (events) => events.some((each) => TYPES.has(each.type) && each.seat === this.seat) && this.#load(),
    );
    this.watch(`agent:${this.seat}`, () => this.#name());
    this.#load();
  }

  #name() {
    const agent = store.agents.get(this.seat);
    if (agent) setAttribute(this.box, "aria-label", `New note for ${agent.id}`);
  }

  get #base() {
    return path`/api/agents/${idOf(this)}/notes`;
  }

  /** Answers may arrive out of order: only the newest one counts. */
  async #load() {
    this.#asked += 1;
    const asked = this.#asked;
    try {
      const { notes } = await get(this.#base);
      if (asked === this.#asked && this.isConnected) this.#paint(notes);
    } catch (problem) {
      show(this.error, problem.message);
    }
  }

  #paint(notes) {
    const shown = [...notes, ...this.#deleted(notes)];
    setHidden(this.none, shown.length > 0);
    keyed(
      this.list,
      shown,
      ({ id }) => id,
      (note) => this.#item(note),
      (item, note) => this.#update(item, note),
    );
  }

  /** Notes that are gone, with text that a person has typed into them. */
  #deleted(notes) {
    const known = new Set(notes.map(({ id }) => id));
    const ids = draftsOf(this.drafts).map((key) => Number(key.slice(this.drafts.length)));
    return ids.filter((id) => !known.has(id)).map((id) => ({ id, text: null }));
  }

  #item(note) {
    const key = `${this.drafts}${note.id}`;
    const text = h("textarea", { rows: "2", "aria-label": `Note ${note.id}`, readonly: !store.operates });
    keepDraft(text, key, note.text ?? "");
    const item = h("li", { data: { note: note.id } }, text);
    const known = note.text;
    Object.assign(item, { key, text, known, about: h("p", { class: "age" }), told: errorLine() });
    item.save = pushButton("Save", () => this.#save(item), {
      data: { acts: "operator" },
      "aria-label": `Save note ${note.id}`,
    });
    item.away = pushButton("Delete", () => this.#delete(item), {
      data: { acts: "operator" },
      "aria-label": `Delete note ${note.id}`,
    });
    item.append(item.about, item.told, item.save, item.away);
    return item;
  }

  /** Text that nobody has touched follows the note; text that was typed stays, beside what the note says now. */
  #update(item, { text, by, at }) {
    const draft = draftOf(item.key);
    item.isGone = text === null;
    if (draft === null || draft === item.known) {
      dropDraft(item.key);
      item.text.value = item.known = text;
      show(item.told, "");
    } else if (item.isGone)
      show(item.told, "This note was deleted meanwhile. Save adds your text as a new one.");
    else if (text !== item.known) show(item.told, `This note was changed meanwhile. It says: ${text}`);
    setText(item.about, item.isGone ? "" : `${by.replace(/^\w+:/, "")} · ${new Date(at).toLocaleString()}`);
  }

  async #save(item) {
    const text = item.text.value;
    const id = item.dataset.note;
    const sent = item.isGone ? post(this.#base, { text }) : put(`${this.#base}/${id}`, { text });
    await this.#try(sent, () => {
      item.known = text.trim();
      if (settleDraft(item.text, item.key, text)) show(item.told, "");
    });
  }

  async #delete(item) {
    const gone = item.isGone ? Promise.resolve() : remove(`${this.#base}/${item.dataset.note}`);
    await this.#try(gone, () => dropDraft(item.key));
  }

  async #add(event) {
    event.preventDefault();
    const text = this.box.value;
    await this.#try(post(this.#base, { text }), () => {
      if (settleDraft(this.box, this.newDraft, text)) this.box.value = "";
    });
  }

  async #try(answer, then) {
    try {
      await answer;
      show(this.error, "");
      then();
      await this.#load();
    } catch (problem) {
      show(this.error, problem.message);
    }
  }
}

customElements.define("agent-notes", AgentNotes);
