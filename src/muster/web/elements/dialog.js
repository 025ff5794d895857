// A modal dialog with a heading and a button that closes it.

import { h } from "../dom.js";

/** Open a modal dialog, removed from the page when it closes. */
export function openDialog(title, ...content) {
  const close = h("button", { type: "button", class: "tool", "aria-label": "Close", text: "✕" });
  const dialog = h(
    "dialog",
    { "aria-label": title },
    h("header", {}, h("h2", { text: title }), close),
    ...content,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
