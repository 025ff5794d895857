// The diff of one file: side by side where there is room, else as one column. Text of agents, inserted as text.

import { h, pushButton } from "../dom.js";
import { everyLine, visible } from "../visible.js";

const SIGNS = { added: "+", gone: "−", same: " " };

/** The rows of a diff as a table. `ask(line)` is called for a line that a person wants changed; null where nobody
 *  may. */
export function diffTable({ file, hunks, note }, wide, ask) {
  const name = visible(file.path);
  const body = hunks.flatMap((hunk) => [
    h("tr", { class: "hunk" }, h("td", { colspan: wide ? "4" : "3", text: visible(hunk.head) })),
    ...(wide ? pairs(hunk.lines) : hunk.lines).map((line) => (wide ? pair(line, ask) : single(line, ask))),
  ]);
  return h(
    "div",
    { class: "lines", role: "region", "aria-label": `Diff of ${name}`, tabindex: "0" },
    hunks.length
      ? h("table", { class: wide ? "wide" : "narrow" }, columns(wide), h("tbody", {}, ...body))
      : "",
    note ? h("p", { class: "muted", text: note }) : "",
  );
}

const columns = (wide) =>
  h(
    "thead",
    {},
    h(
      "tr",
      {},
      ...(wide
        ? ["Line before", "Before", "Line after", "After"]
        : ["Line before", "Line after", "Text"]
      ).map((text) => h("th", { scope: "col", text })),
    ),
  );

const kindOf = ({ old, new: after }) => (old === undefined ? "added" : after === undefined ? "gone" : "same");

/** Lines that go beside the lines that come in their place. */
function pairs(lines) {
  const rows = [];
  const gone = [];
  const added = [];
  const flush = () => {
    const most = Math.max(gone.length, added.length);
    for (let at = 0; at < most; at += 1) rows.push([gone[at] ?? null, added[at] ?? null]);
    gone.length = added.length = 0;
  };
  for (const line of lines) {
    const kind = kindOf(line);
    if (kind === "gone") gone.push(line);
    else if (kind === "added") added.push(line);
    else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}

function pair([before, after], ask) {
  const same = before === after;
  return h(
    "tr",
    {},
    number(before?.old, null),
    cell(before, same ? "same" : "gone"),
    number(after?.new, ask),
    cell(after, same ? "same" : "added"),
  );
}

function single(line, ask) {
  return h("tr", {}, number(line.old, null), number(line.new, ask), cell(line, kindOf(line)));
}

function number(line, ask) {
  if (line === undefined || !ask) return h("td", { class: "number", text: line ?? "" });
  const button = pushButton(String(line), () => ask(line), {
    class: "quiet",
    title: "Ask for a change of this line",
    "aria-label": `Ask for a change of line ${line}`,
  });
  return h("td", { class: "number" }, button);
}

function cell(line, kind) {
  if (!line) return h("td", { class: "text none" });
  return h(
    "td",
    { class: `text ${kind}` },
    h("span", { class: "sign", text: SIGNS[kind] }),
    everyLine(line.text),
  );
}
