// The help dialog: keyboard shortcuts, and the way to notifications.

import { h, pushButton } from "../dom.js";
import * as keys from "../keys.js";

const NAMES = { ArrowRight: "← ↑ → ↓", " ": "Space" };

export function showHelp() {
  const rows = keys
    .all()
    .filter(({ say }) => say)
    .map(({ key, say }) =>
      h("tr", {}, h("td", {}, h("kbd", { text: NAMES[key] ?? key })), h("td", { text: say })),
    );
  const table = h("table", { class: "keys" }, rows);
  const dialog = openDialog("Keyboard shortcuts", table, singleKeys(), pushButton("Notifications …", notify));
  function notify() {
    dialog.close();
    showNotifications();
  }
}

/** The dialog of notifications, loaded when it is wanted. */
export const showNotifications = async () => (await import("./notify-dialog.js")).showNotifications();

function singleKeys() {
  const box = h("input", { type: "checkbox", on: { change: keys.turn } });
  box.checked = keys.areOn();
  return h("label", { class: "choice" }, box, " Shortcuts of a single key (⌘K or Ctrl+K always works)");
}

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
