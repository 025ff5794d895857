// The form of an agent's settings: what its fields say as keys and values of its table in muster.toml, and their errors.

import { h, setAttribute, setHidden, show } from "../dom.js";
import { commandLine, words } from "../words.js";
import { SECTIONS } from "./agent-fields.js";

export class AgentForm {
  #rows = new Map(); // by key: {field, row, input, error}
  #before = {};

  /** `changed` is called after every change of a field. */
  constructor(changed) {
    this.runtime = "command";
    const edited = () => {
      this.#paint();
      changed();
    };
    this.name = row({ key: "name", label: "Name", required: true, maxlength: "64" }, edited);
    this.node = h(
      "div",
      { class: "fields" },
      SECTIONS.flatMap((section) => this.#section(section, edited)),
    );
    this.#paint();
  }

  #section({ title, fields }, edited) {
    const rows = fields.map((field) => row(field, edited));
    for (const each of rows) this.#rows.set(each.field.key, each);
    const lines = rows.map((each) => each.row);
    if (!title) return lines;
    return h("details", {}, h("summary", { text: title }), h("div", { class: "fields" }, lines));
  }

  /** Show the fields that count for a runtime. */
  choose(runtime) {
    this.runtime = runtime;
    this.#paint();
  }

  #paint() {
    for (const { field, row: line } of this.#rows.values()) {
      const idle = field.needs && !this.#rows.get(field.needs).input.value.trim();
      setHidden(line, Boolean((field.runtime && field.runtime !== this.runtime) || idle));
    }
  }

  input(key) {
    return key === "name" ? this.name.input : this.#rows.get(key).input;
  }

  /** Show an agent's settings; a section with a setting is open. */
  fill(settings) {
    this.#before = settings;
    for (const [key, { field, input, row: line }] of this.#rows) {
      if (field.kind === "flag") input.checked = Boolean(settings[key]);
      else input.value = shown(field, settings[key]);
      if (settings[key] !== undefined) line.closest("details")?.setAttribute("open", "");
    }
    this.choose(settings.runtime ?? "command");
  }

  /** The settings that the fields give, by key. */
  get settings() {
    const given = this.runtime === "command" ? {} : { runtime: this.runtime };
    for (const [key, { field, row: line, input }] of this.#rows) {
      const value = line.hidden ? undefined : read(field, input);
      if (value !== undefined) given[key] = value;
    }
    return given;
  }

  /** What to set and to remove so that the table says what the fields say; other settings stay. */
  get change() {
    const now = this.settings;
    const keys = [...this.#rows.keys(), "runtime"];
    const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    const settings = Object.fromEntries(
      Object.entries(now).filter(([key, value]) => !same(value, this.#before[key])),
    );
    const unset = keys.filter((key) => this.#before[key] !== undefined && now[key] === undefined);
    return { settings, unset };
  }

  /** Show the mistakes that only the page can see: an open quote, a number that is none. Returns the first field
   *  with one, or null. */
  mistake() {
    this.clear();
    let first = null;
    for (const each of this.#rows.values()) {
      const wrong = each.row.hidden ? "" : misread(each);
      if (wrong) mark(each, wrong);
      if (wrong) first ??= each.input;
    }
    return first;
  }

  /** Show an error beside its field; returns whether a field has it. */
  fail(name, problem) {
    this.clear();
    const at = String(problem.found.key ?? "");
    const key = at.startsWith(`agents.${name}.`) ? at.slice(`agents.${name}.`.length) : "";
    const known = this.#rows.get(key) ?? this.#rows.get(key.split(".")[0]);
    const target = known ?? (at === `agents.${name}` ? this.#whole(problem) : null);
    if (!target || target.row.hidden) return false;
    const { what, remedy } = problem.found;
    mark(target, what ? `${what.replaceAll(`agents.${name}.`, "")}. ${remedy}` : problem.message);
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

// ── a row ──────────────────────────────────────────────────────────────────────────────────────────

function row(field, changed) {
  const id = `agent-${field.key.replace(".", "-")}`;
  const input = inputOf(field, {
    id,
    name: field.key,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-note`,
    on: { input: changed, change: changed },
  });
  const error = h("span", { class: "error" });
  const note = h("span", { id: `${id}-note` }, h("span", { class: "muted", text: field.hint ?? "" }), error);
  const label = h("label", { for: id, text: field.label });
  if (field.kind === "flag")
    return { field, input, error, row: h("div", { class: "flag" }, input, label, note) };
  const line = h("div", { class: "field" }, label, input, note, field.suggests && suggestions(input, field));
  return { field, input, error, row: line };
}

function inputOf(field, attributes) {
  for (const name of ["placeholder", "required", "maxlength"])
    if (field[name]) attributes[name] = field[name];
  if (field.kind === "number") Object.assign(attributes, { type: "number", min: "0", step: "any" });
  if (field.kind === "flag") attributes.type = "checkbox";
  if (!field.choices) return h("input", attributes);
  const options = Object.entries(field.choices).map(([value, text]) => h("option", { value, text }));
  return h("select", attributes, options);
}

function suggestions(input, { suggests }) {
  const id = `${input.id}-list`;
  input.setAttribute("list", id);
  return h(
    "datalist",
    { id },
    suggests().map((value) => h("option", { value })),
  );
}

/** Show an error, also where its section is closed. */
function mark({ input, error, row: line }, text) {
  show(error, text);
  setAttribute(input, "aria-invalid", text ? "true" : null);
  if (text) line.closest("details")?.setAttribute("open", "");
}

// ── values ─────────────────────────────────────────────────────────────────────────────────────────

/** The value of a field; undefined if it is empty. */
function read({ kind }, input) {
  const text = input.value.trim();
  if (kind === "flag") return input.checked || undefined;
  if (!text) return undefined;
  if (kind === "command") return words(text);
  if (kind === "number") return Number(text);
  return kind === "list" ? listed(text) : text;
}

const listed = (text) =>
  text
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);

function misread({ field, input }) {
  if (input.validity.badInput) return "This is not a number. Write one, or leave the field empty.";
  try {
    read(field, input);
    return "";
  } catch (problem) {
    return problem.message;
  }
}

function shown({ kind }, value) {
  if (kind === "command") return commandLine(value ?? []);
  return Array.isArray(value) ? value.join(", ") : String(value ?? "");
}
