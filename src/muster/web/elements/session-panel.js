// The delegation session: mode, folder and agents, and the forms that open and close it.

import { post, remove } from "../api.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { act, MODES, talks } from "../talks.js";
import { visible } from "../visible.js";

const KEY = "session";

class SessionPanel extends Part {
  start() {
    this.className = "panel";
    this.modeName = h("strong");
    this.modeSays = h("span", { class: "muted" });
    this.mode = h("p", { class: "mode" }, this.modeName, " ", this.modeSays);
    this.path = h("p", { class: "path muted" });
    this.agents = h("ul", { class: "chips" });
    this.end = pushButton("Close the session", () => this.#close(), {
      class: "quiet",
      data: { acts: "operator" },
    });
    this.open = h("div", { hidden: true }, this.mode, this.path, this.agents, this.end);
    this.form = this.#form();
    this.error = errorLine();
    this.warnings = h("p", { class: "muted" });
    this.replaceChildren(h("h2", { text: "Session" }), this.open, this.form, this.warnings, this.error);
    this.watch(["talks", "pending"], () => this.#paint());
  }

  #form() {
    this.choice = h(
      "select",
      {
        name: "mode",
        "aria-label": "Mode",
        on: { change: () => setText(this.says, MODES[this.choice.value]) },
      },
      Object.keys(MODES).map((mode) => h("option", { value: mode, text: mode })),
    );
    this.says = h("p", { class: "muted", text: MODES.orchestrator });
    this.folder = h("input", {
      name: "agents",
      "aria-label": "Folder with agents",
      placeholder: "folder with agents (optional)",
      autocomplete: "off",
    });
    this.begin = h("button", { class: "main", text: "Open a session" });
    return h(
      "form",
      { hidden: true, data: { acts: "operator" }, on: { submit: (event) => this.#open(event) } },
      h("p", {
        class: "muted",
        text: "No session is open. Open one to route requests to agents by their descriptions.",
      }),
      h("label", {}, "Mode ", this.choice),
      this.says,
      this.folder,
      this.begin,
    );
  }

  #paint() {
    const { session } = talks;
    if (session === null) return;
    const pending = store.pending.get(KEY);
    setHidden(this.open, !session.open);
    setHidden(this.form, session.open);
    setText(this.modeName, session.mode ?? "");
    setText(this.modeSays, MODES[session.mode] ?? "");
    setText(this.path, visible(session.path, 200));
    const agents = session.agents.length ? session.agents : ["no agents: MAIN answers everything"];
    keyed(
      this.agents,
      agents,
      (name) => name,
      (name) => h("li", { class: "state", text: visible(name, 60) }),
    );
    for (const button of [this.begin, this.end])
      setAttribute(button, "aria-disabled", pending ? "true" : null);
    setText(this.begin, pending ? `${pending.label} …` : "Open a session");
    setText(this.end, pending ? `${pending.label} …` : "Close the session");
    show(this.error, store.failed.get(KEY));
  }

  async #open(event) {
    event.preventDefault();
    const agents = this.folder.value.trim() ? [this.folder.value.trim()] : [];
    const opened = await act(KEY, "Opening", () =>
      post("/api/delegation", { mode: this.choice.value, agents }),
    );
    setText(this.warnings, (opened?.warnings ?? []).map((each) => visible(each)).join(" "));
  }

  #close() {
    const going = Object.keys(talks.session.working).length;
    if (going && !confirm(`${going} open conversation(s) will be closed. Close the session?`)) return;
    act(KEY, "Closing", () => remove("/api/delegation"));
  }
}

customElements.define("session-panel", SessionPanel);
