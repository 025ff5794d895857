// A command line with a button that copies it.

import { h, setText } from "../dom.js";

const TOLD_MS = 2000;

/** A line that a person can run in a terminal. Without a clipboard (a page over plain HTTP) it is selected instead. */
export function copyLine(text) {
  const line = h("code", { text });
  const button = h("button", { type: "button", class: "copy", text: "Copy", "aria-label": `Copy: ${text}` });
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    if (!copied) getSelection().selectAllChildren(line);
    setText(button, copied ? "Copied" : "Selected");
    setTimeout(() => setText(button, "Copy"), TOLD_MS);
  });
  return h("div", { class: "copy-line" }, line, button);
}
