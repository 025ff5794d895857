// The notes of an agent: what it is told in every life. A person reads, adds, edits and deletes them.

import { get, path, post, put, remove } from "../api.js";
import { errorLine, h, pushButton, setHidden, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

const TYPES = new Set(["note_remembered", "note_edited", "note_forgotten"]);

class AgentNotes extends Part {
  start() {
    this.agent = store.agents.get(this.seat);
    this.list = h("ul", { class: "notes" });
    this.none = h("p", {
      class: "muted",
      text: "No notes yet. The agent writes them with its tool remember.",
    });
    this.error = errorLine();
    this.box = h("textarea", { rows: "2", "aria-label": `New note for ${this.agent.id}` });
    const form = h(
      "form",
      { data: { acts: "" }, on: { submit: (event) => this.#add(event) } },
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
    this.#load();
  }

  get #base() {
    return path`/api/agents/${this.agent.id}/notes`;
  }

  async #load() {
    const { notes } = await get(this.#base);
    setHidden(this.none, notes.length > 0);
    this.list.replaceChildren(...notes.map((note) => this.#item(note)));
  }

  #item(note) {
    const text = h("textarea", { rows: "2", "aria-label": `Note ${note.id}`, readonly: store.reader });
    text.value = note.text;
    return h(
      "li",
      {},
      text,
      h("p", { class: "age", text: `${note.by} · ${new Date(note.at).toLocaleString()}` }),
      pushButton("Save", () => this.#try(put(`${this.#base}/${note.id}`, { text: text.value })), {
        data: { acts: "" },
        "aria-label": `Save note ${note.id}`,
      }),
      pushButton("Delete", () => this.#try(remove(`${this.#base}/${note.id}`)), {
        data: { acts: "" },
        "aria-label": `Delete note ${note.id}`,
      }),
    );
  }

  async #add(event) {
    event.preventDefault();
    if (await this.#try(post(this.#base, { text: this.box.value }))) this.box.value = "";
  }

  async #try(answer) {
    try {
      await answer;
      show(this.error, "");
      await this.#load();
      return true;
    } catch (problem) {
      show(this.error, problem.message);
      return false;
    }
  }
}

customElements.define("agent-notes", AgentNotes);
