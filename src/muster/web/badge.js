// The badge of an agent: the word and the line are the server's; only the countdown at the end of the line runs here.

import { serverNow, span } from "./clock.js";
import { setText } from "./dom.js";
import { visible } from "./visible.js";

/** What the word means now, in one line: `failed 3 times; next try in 4 s`. */
export function meaning({ line: told, due }, now = serverNow()) {
  const line = visible(told); // notes and reasons are words of programs and people
  if (!due) return line;
  const left = (Date.parse(due) - now) / 1000;
  return left > 0 ? `${line} in ${span(Math.max(1, Math.round(left)))}` : `${line} now`;
}

/** How the face of an agent looks: as its badge says, so that the two never contradict each other. */
export function look({ status, badge }) {
  if (status === "unknown" || status === "hatching") return status;
  return badge.color === "green" ? "alive" : "sleeping";
}

/** Show the word of a badge in an element. */
export function paintBadge(element, { status, color }) {
  setText(element, status);
  element.dataset.color = color;
}
