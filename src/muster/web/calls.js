// Tool calls: the input of a call, and what it says in one line.

/** The field of a tool's input that says most, by the names that tools use. */
const TELLING = [
  "command",
  "file_path",
  "notebook_path",
  "path",
  "pattern",
  "query",
  "url",
  "description",
  "prompt",
];

export const isText = (value) => typeof value === "string";

/** The input of a call as an object; null where it is too long for the log, or no JSON. */
export function parsed(text) {
  try {
    const given = JSON.parse(text);
    return given && typeof given === "object" ? given : null;
  } catch {
    return null;
  }
}

/** The input of a call in one line: its most telling field. */
export function oneLine(given, text) {
  if (!given) return text;
  const name = TELLING.find((each) => isText(given[each]));
  return name ? given[name] : Object.values(given).filter(isText).join(" ");
}

/** A call in one line: its tool, and what it says. */
export const callLine = (name, text) => (text ? `${name}: ${oneLine(parsed(text), text)}` : name);
