// The dialogs that add an agent, and that change, rename or remove one: they edit muster.toml through the server, which
// validates every edit and shows it before it is written.

import { get, idOf, patch, path, post, remove } from "../api.js";
import { coded, errorLine, h, pushButton, setHidden, setText, show } from "../dom.js";
import { go } from "../router.js";
import { commandLine } from "../words.js";
import { AgentForm } from "./agent-form.js";
import { openDialog } from "./dialog.js";

const PREVIEW_MS = 250;
export const OWN_PROGRAM = "A program of my own";
const COMMAND = { runtime: "command", label: OWN_PROGRAM, command: [], isFound: true };

/** Ask for a new agent: the program first, because the other fields depend on it. `wanted` is the label of
 *  the program that is chosen already. */
export async function showAddAgent(wanted = null) {
  const form = new AgentForm(() => preview.soon());
  const programs = h("div", { class: "programs", text: "Looking for installed programs…" });
  const signIn = h("div", { role: "status" });
  const start = h("input", { type: "checkbox", checked: true });
  const submit = h("button", { class: "main", text: "Add agent" });
  const preview = new Preview(form, () => {
    const name = form.input("name").value.trim();
    return {
      name,
      call: () => post("/api/settings/agents", { name, settings: form.settings, preview: true }),
    };
  });
  const dialog = openDialog(
    "Add an agent",
    h(
      "form",
      { class: "agent-settings", on: { submit: (event) => add(event) } },
      h("fieldset", {}, h("legend", { text: "Program" }), programs, signIn),
      form.name.row,
      form.node,
      h(
        "div",
        { class: "written" },
        preview.node,
        h(
          "div",
          { class: "buttons" },
          h("label", { class: "choice" }, start, h("span", { text: "Start right away" })),
          submit,
        ),
      ),
    ),
  );
  start.checked = true;
  form.input("name").focus();

  async function add(event) {
    event.preventDefault();
    const name = form.input("name").value.trim();
    const body = () => ({ name, settings: form.settings, start: start.checked, version: preview.version });
    if (await preview.send(submit, () => post("/api/settings/agents", body()))) {
      dialog.close();
      go("agent", name);
    }
  }

  const found = await get("/api/runtimes").catch(() => ({ programs: [] }));
  const choices = [...found.programs.filter((each) => each.isFound), COMMAND];
  const missing = found.programs.filter((each) => !each.isFound);
  programs.replaceChildren(
    ...choices.map((program) => choice(program, () => picked(program))),
    h(
      "details",
      { hidden: missing.length === 0 },
      h("summary", { text: "Not installed" }),
      h(
        "ul",
        {},
        missing.map(({ label, remedy }) => h("li", {}, h("strong", { text: label }), " ", ...coded(remedy))),
      ),
    ),
  );
  const at = Math.max(
    0,
    choices.findIndex(({ label }) => label === wanted),
  );
  programs.querySelectorAll("input")[at].checked = true;
  picked(choices[at]);

  function picked(program) {
    pick(program, form);
    signIn.replaceChildren(...(program.lacksSignIn ? [signInNote(program)] : []));
    preview.soon();
  }
}

/** What a program lacks before it can do anything, and what to do about it. */
export const signInNote = ({ label, remedy }) =>
  h("p", { class: "why" }, `No sign-in of ${label} was found. `, ...coded(remedy));

function choice(program, picked) {
  const radio = h("input", { type: "radio", name: "program", on: { change: picked } });
  const detail = program.version || program.program || "any other program on this machine";
  return h(
    "label",
    { class: "choice" },
    radio,
    h("span", { text: program.label }),
    h("small", { class: "muted", text: detail, title: program.enforcement ?? "" }),
  );
}

function pick(program, form) {
  form.choose(program.runtime);
  if (program.runtime === "command") form.input("command").value = commandLine(program.command);
  if (program.preset) form.input("acp.preset").value = program.preset;
}

/** Change, rename or remove an agent. */
export async function showAgentSettings(agent) {
  const found = await get("/api/settings").catch((problem) => ({ failed: problem.message, agents: [] }));
  const table = found.agents.find(({ name }) => name.toLowerCase() === agent.id.toLowerCase());
  const dialog = openDialog(`Settings of ${agent.id}`);
  if (found.failed) return void dialog.append(h("p", { class: "error", text: found.failed }));
  if (found.path === null)
    return void dialog.append(
      h("p", { text: "This team has no settings file, so its agents cannot be changed here." }),
    );
  const renaming = new Renaming(agent, dialog);
  if (table) dialog.append(tableOf(agent, table, found.version, dialog, renaming));
  else
    dialog.append(
      h("p", {
        class: "muted",
        text: "It has no table in muster.toml: it connects by itself, or was summoned.",
      }),
    );
  dialog.append(renaming.node);
  dialog.append(table ? removal(agent, dialog) : retirement(agent, dialog));
}

/** The form of an agent's table. A new name that is typed below it is saved with it. */
function tableOf(agent, table, version, dialog, renaming) {
  const form = new AgentForm(() => preview.soon());
  const at = path`/api/settings/agents/${idOf(agent)}`;
  const submit = h("button", { class: "main", text: "Save" });
  const preview = new Preview(form, () => ({
    name: table.name,
    call: () => patch(at, { ...form.change, preview: true }),
  }));
  let expected = version;
  preview.version = version;
  form.fill(table.settings);
  renaming.onType = () => setText(submit, renaming.isWanted ? "Save and rename" : "Save");
  return h(
    "form",
    {
      class: "agent-settings",
      on: {
        submit: async (event) => {
          event.preventDefault();
          const save = () => patch(at, { ...form.change, version: expected });
          if (!(await preview.send(submit, save))) return;
          expected = null; // the file is this edit's now: if the name is refused, Save can be pressed again
          if (renaming.isWanted) await renaming.apply();
          else dialog.close();
        },
      },
    },
    table.nextSession ? outdated(agent, dialog) : null,
    form.node,
    h("div", { class: "written" }, preview.node, h("div", { class: "buttons" }, submit)),
  );
}

/** The session runs with earlier settings: say so, and offer to restart it. */
function outdated(agent, dialog) {
  const at = path`/api/agents/${idOf(agent)}/restart`;
  const button = h("button", { type: "button", text: "Restart it now" });
  const error = errorLine();
  button.addEventListener("click", async () => {
    const restart = () => post(at, { now: true, note: "for its new settings" });
    if (await tried(button, error, restart)) dialog.close();
  });
  const told = `${agent.id} runs with earlier settings until its next session.`;
  return h("div", { class: "outdated" }, h("p", { role: "status", text: told }), button, error);
}

/** The part of the dialog that renames an agent. */
class Renaming {
  constructor(agent, dialog) {
    this.agent = agent;
    this.dialog = dialog;
    this.onType = () => {};
    this.name = h("input", {
      id: "agent-new-name",
      name: "new-name",
      value: agent.id,
      maxlength: "64",
      required: true,
      autocomplete: "off",
      on: { input: () => this.onType() },
    });
    this.button = h("button", { text: "Rename" });
    this.error = errorLine();
    this.node = this.#form();
  }

  get #typed() {
    return this.name.value.trim();
  }

  get isWanted() {
    return this.#typed !== "" && this.#typed !== this.agent.id;
  }

  async apply() {
    const name = this.#typed;
    const rename = () => post(path`/api/settings/agents/${idOf(this.agent)}/rename`, { name });
    if (!(await tried(this.button, this.error, rename))) return void this.name.focus();
    this.dialog.close();
  }

  #form() {
    const submit = (event) => {
      event.preventDefault();
      this.apply();
    };
    return h(
      "form",
      { class: "agent-settings part", on: { submit } },
      h("h3", { text: "Rename" }),
      h("div", { class: "field" }, h("label", { for: "agent-new-name", text: "New name" }), this.name),
      h("p", { class: "muted", text: "Its seat, history, channels and folder stay." }),
      this.error,
      h("div", { class: "buttons" }, this.button),
    );
  }
}

function removal(agent, dialog) {
  const at = path`/api/settings/agents/${idOf(agent)}`;
  const ask = h("button", { type: "button", text: "Remove…" });
  const sure = h("button", { type: "button", "data-color": "red", text: `Remove ${agent.id}`, hidden: true });
  const effect = h("p", { role: "status" });
  const error = errorLine();
  ask.addEventListener("click", async () => {
    const shown = await tried(ask, error, () => remove(`${at}?preview=true`));
    if (!shown) return;
    setText(effect, `${shown.effect[0].toUpperCase()}${shown.effect.slice(1)}.`);
    setHidden(ask, true);
    setHidden(sure, false);
    sure.focus();
  });
  sure.addEventListener("click", async () => {
    if (await tried(sure, error, () => remove(at))) {
      dialog.close();
      go("");
    }
  });
  return h(
    "section",
    { class: "agent-settings part" },
    h("h3", { text: "Remove" }),
    effect,
    error,
    h("div", { class: "buttons" }, ask, sure),
  );
}

/** Retire an agent that the settings do not name. The second press is the answer to the question. */
function retirement(agent, dialog) {
  const ask = h("button", { type: "button", text: "Retire…" });
  const sure = h("button", { type: "button", "data-color": "red", text: `Retire ${agent.id}`, hidden: true });
  const effect = h("p", { role: "status" });
  const error = errorLine();
  ask.addEventListener("click", () => {
    setText(
      effect,
      "Its session ends, and nothing runs it. Soul, notes and history stay; it can be brought back.",
    );
    setHidden(ask, true);
    setHidden(sure, false);
    sure.focus();
  });
  sure.addEventListener("click", async () => {
    if (await tried(sure, error, () => remove(path`/api/agents/${idOf(agent)}`))) {
      dialog.close();
      go("");
    }
  });
  return h(
    "section",
    { class: "agent-settings part" },
    h("h3", { text: "Retire" }),
    effect,
    error,
    h("div", { class: "buttons" }, ask, sure),
  );
}

async function tried(button, error, call) {
  button.disabled = true;
  show(error, "");
  try {
    return await call();
  } catch (problem) {
    show(error, problem.message);
    return null;
  } finally {
    button.disabled = false;
  }
}

/** The toml that an edit will write, and the errors of its fields. */
class Preview {
  #timer = null;
  #asked = 0;

  constructor(form, edit) {
    this.form = form;
    this.edit = edit;
    this.version = null;
    this.toml = h("pre", { tabindex: "0", "aria-label": "Lines of muster.toml", hidden: true });
    this.error = errorLine();
    this.node = h("div", { class: "preview" }, this.toml, this.error);
  }

  soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#show(), PREVIEW_MS);
  }

  async #show() {
    const { name, call } = this.edit();
    const asked = ++this.#asked;
    if (this.form.mistake() || !name) return this.#put("");
    try {
      const { difference } = await call();
      if (asked !== this.#asked) return;
      this.form.clear();
      show(this.error, "");
      this.#put(difference);
    } catch (problem) {
      if (asked !== this.#asked) return;
      this.#put("");
      this.#fail(name, problem);
    }
  }

  #put(difference) {
    const lines = difference.split("\n").filter((line) => /^[+-](?![+-]{2} )./.test(line)); // without empty ones
    setHidden(this.toml, lines.length === 0);
    this.toml.replaceChildren(
      ...lines.map((line) => h("span", { class: line[0] === "+" ? "added" : "removed", text: `${line}\n` })),
    );
  }

  #fail(name, problem) {
    show(this.error, this.form.fail(name, problem) ? "" : problem.message);
  }

  /** Write the edit; returns whether that was done. */
  async send(button, call) {
    clearTimeout(this.#timer);
    this.#asked++;
    const wrong = this.form.mistake();
    if (wrong) wrong.focus();
    if (wrong) return false;
    button.disabled = true;
    try {
      await call();
      return true;
    } catch (problem) {
      this.#fail(this.edit().name, problem);
      return false;
    } finally {
      button.disabled = false;
    }
  }
}

/** The button that opens the dialog for a new agent. */
export const addButton = (className = "") =>
  pushButton("Add an agent", () => showAddAgent(), { class: className, data: { acts: "operator" } });
