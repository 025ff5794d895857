// Messages in Markdown as HTML. The server renders them (POST /api/markdown), and a line break stays a line break; until
// then the plain text is shown.

import { post } from "./api.js";
import { putRendered } from "./trusted.js";

const KEPT = 1000;
const AT_ONCE = 100;
const rendered = new Map(); // cache: text to HTML, oldest first
const wanted = new Map(); // text to the elements that wait for it
let asking = null;

/** Show markdown in an element. */
export function showMarkdown(element, text) {
  element.classList.add("prose");
  element.shownText = text;
  const html = rendered.get(text);
  if (html !== undefined) return putRendered(element, html);
  element.textContent = text;
  wanted.set(text, [...(wanted.get(text) ?? []), element]);
  if (asking === null) asking = Promise.resolve().then(ask);
}

async function ask() {
  while (wanted.size) {
    const texts = [...wanted.keys()].slice(0, AT_ONCE);
    const elements = texts.map((text) => wanted.get(text));
    for (const text of texts) wanted.delete(text);
    const answer = await post("/api/markdown", { texts, breaks: true }).catch(() => null);
    if (!answer) continue;
    for (const [index, text] of texts.entries()) put(text, answer.html[index], elements[index]);
  }
  asking = null;
}

function put(text, html, elements) {
  rendered.set(text, html);
  if (rendered.size > KEPT) rendered.delete(rendered.keys().next().value);
  for (const element of elements) if (element.shownText === text) putRendered(element, html);
}
