// What a terminal would show of a line: colours as classes, and the last state of a line that a program wrote over. All other
// control codes are dropped. Text stays text.

import { h } from "./dom.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control codes are the subject
const CODE = /\u001b(?:\[([0-9;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g;
const ESCAPE = "\u001b";
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const STYLES = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 9: "gone" };
const ENDS = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 29: ["gone"] };

/** The text of a line without control codes, as it looks at its end: a progress line is written over with `\r`. */
export function plain(line) {
  return over(line).replace(CODE, "");
}

/** A line as text and spans with classes. */
export function ansi(line) {
  const shown = over(line);
  if (!shown.includes(ESCAPE)) return [shown];
  const parts = [];
  const look = { colour: "", styles: new Set() };
  let from = 0;
  const add = (text) => text && parts.push(span(text, look));
  for (const found of shown.matchAll(CODE)) {
    add(shown.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") restyle(look, found[1]);
  }
  add(shown.slice(from));
  return parts;
}

/** What is left of a line after its carriage returns. */
function over(line) {
  const last = line.replace(/\r+$/, "").lastIndexOf("\r");
  return last < 0 ? line.replace(/\r+$/, "") : line.replace(/\r+$/, "").slice(last + 1);
}

function span(text, { colour, styles }) {
  const names = [...styles, colour].filter(Boolean);
  return names.length ? h("span", { class: names.map((name) => `ansi-${name}`).join(" "), text }) : text;
}

function restyle(look, given) {
  const codes = given.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) Object.assign(look, { colour: "", styles: new Set() });
    else if (STYLES[code]) look.styles.add(STYLES[code]);
    else if (ENDS[code]) for (const each of ENDS[code]) look.styles.delete(each);
    else if (code === 39) look.colour = "";
    else if (code >= 30 && code <= 37) look.colour = COLOURS[code - 30];
    else if (code >= 90 && code <= 97) look.colour = COLOURS[code - 90];
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4; // 256 colours and RGB stay plain
  }
}
