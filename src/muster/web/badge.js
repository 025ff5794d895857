// The badge of an agent: the word and the line are the server's; only the countdown at the end of the line runs here.

import { serverNow, span } from "./clock.js";
import { setText } from "./dom.js";

/** What the word means now, in one line: `failed 3 times; next try in 4 s`. */
export function meaning({ line, due }, now = serverNow()) {
  if (!due) return line;
  const left = (Date.parse(due) - now) / 1000;
  return left > 0 ? `${line} in ${span(Math.max(1, Math.round(left)))}` : `${line} now`;
}

/** Show the word of a badge in an element. */
export function paintBadge(element, { status, color }) {
  setText(element, status);
  element.dataset.color = color;
}
