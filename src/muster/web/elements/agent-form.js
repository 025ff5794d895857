// The fields of an agent's settings, and what they say as keys and values of its table in muster.toml.

import { h, setAttribute, setHidden, setText } from "../dom.js";

const MODES = {
  default: "Ask before anything that changes something",
  acceptEdits: "Edit files without asking",
  plan: "Plan only",
  dontAsk: "Never ask: deny what is not allowed",
};

/** A field: its key below the agent's table, its label and input, and for which runtime it counts. */
const FIELDS = [
  {
    key: "command",
    label: "Command",
    hint: "Program and arguments, as in a terminal; no shell reads it.",
    runtime: "command",
    placeholder: "./build.sh --fast",
  },
  { key: "cwd", label: "Working folder", placeholder: "the folder of the team" },
  { key: "claude.model", label: "Model", runtime: "claude", placeholder: "Claude Code's default" },
  { key: "claude.permission_mode", label: "Permissions", runtime: "claude", choices: MODES },
  { key: "budget.cost_usd", label: "Budget ($)", type: "number", placeholder: "no limit" },
  { key: "description", label: "Description", placeholder: "what it is for" },
];

export class AgentForm {
  #rows = new Map(); // by key: {field, row, input, error}
  #before = {};

  /** `changed` is called after every change of a field. */
  constructor(changed) {
    this.runtime = "command";
    this.name = row({ key: "name", label: "Name", required: true, maxlength: "64" }, changed);
    for (const field of FIELDS) this.#rows.set(field.key, row(field, changed));
    this.node = h(
      "div",
      { class: "fields" },
      [...this.#rows.values()].map((each) => each.row),
    );
    this.choose("command");
  }

  /** Show the fields that count for a runtime. */
  choose(runtime) {
    this.runtime = runtime;
    for (const { field, row: line } of this.#rows.values())
      setHidden(line, Boolean(field.runtime) && field.runtime !== runtime);
  }

  input(key) {
    return key === "name" ? this.name.input : this.#rows.get(key).input;
  }

  /** Show an agent's settings. */
  fill(settings) {
    this.#before = settings;
    this.choose(settings.runtime ?? "command");
    for (const [key, { input }] of this.#rows) input.value = shown(settings[key]);
  }

  /** The settings that the fields give, by key. */
  get settings() {
    const given = this.runtime === "command" ? {} : { runtime: this.runtime };
    for (const [key, { field, row: line, input }] of this.#rows) {
      const value = line.hidden ? "" : read(field, input);
      if (value !== "") given[key] = value;
    }
    return given;
  }

  /** What to set and to remove so that the table says what the fields say; other settings stay. */
  get change() {
    const now = this.settings;
    const keys = [...this.#rows.keys(), "runtime"];
    const settings = Object.fromEntries(
      Object.entries(now).filter(([key, value]) => shown(value) !== shown(this.#before[key])),
    );
    const unset = keys.filter((key) => this.#before[key] !== undefined && now[key] === undefined);
    return { settings, unset };
  }

  /** Show an error beside its field; returns whether a field has it. */
  fail(name, problem) {
    this.clear();
    const at = String(problem.found.key ?? "");
    const key = at.startsWith(`agents.${name}.`) ? at.slice(`agents.${name}.`.length) : "";
    const known = this.#rows.get(key) ?? this.#rows.get(key.split(".")[0]);
    const target = known ?? (at === `agents.${name}` ? this.#whole(problem) : null);
    if (!target) return false;
    mark(target, problem.found.what ? `${problem.found.what}. ${problem.found.remedy}` : problem.message);
    return true;
  }

  /** A mistake of the whole table is a missing command, or the name. */
  #whole(problem) {
    return /has no command/.test(problem.found.what ?? "") ? this.#rows.get("command") : this.name;
  }

  clear() {
    for (const each of [this.name, ...this.#rows.values()]) mark(each, "");
  }
}

function row(field, changed) {
  const id = `agent-${field.key.replace(".", "-")}`;
  const attributes = {
    id,
    name: field.key,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-note`,
    on: { input: changed, change: changed },
  };
  for (const name of ["placeholder", "required", "maxlength"])
    if (field[name]) attributes[name] = field[name];
  if (field.type === "number") Object.assign(attributes, { type: "number", min: "0", step: "any" });
  const input = field.choices
    ? h(
        "select",
        attributes,
        Object.entries(field.choices).map(([value, text]) =>
          h("option", { value: value === "default" ? "" : value, text }),
        ),
      )
    : h("input", attributes);
  const error = h("span", { class: "error" });
  const note = h("span", { id: `${id}-note` }, h("span", { class: "muted", text: field.hint ?? "" }), error);
  const line = h("div", { class: "field" }, h("label", { for: id, text: field.label }), input, note);
  return { field, input, error, row: line };
}

function mark({ input, error }, text) {
  setText(error, text);
  setAttribute(input, "aria-invalid", text ? "true" : null);
}

function read(field, input) {
  const text = input.value.trim();
  if (field.key === "command") return text ? words(text) : "";
  return field.type === "number" && text ? Number(text) : text;
}

function shown(value) {
  return Array.isArray(value) ? value.map(quoted).join(" ") : String(value ?? "");
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The words of a command line: blanks separate, quotes and backslashes keep. */
export function words(text) {
  const found = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quote) {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && '"\\$`'.includes(text[at + 1])) word += text[++at];
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && at + 1 < text.length) word = (word ?? "") + text[++at];
    else if (/\s/.test(char)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (word !== null) found.push(word);
  return found;
}
