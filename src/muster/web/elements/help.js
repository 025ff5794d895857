// The help dialog: keyboard shortcuts, and the way to notifications.

import { h, pushButton } from "../dom.js";
import * as keys from "../keys.js";
import { openDialog } from "./dialog.js";
import { showNotifications } from "./notify-dialog.js";

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

function singleKeys() {
  const box = h("input", { type: "checkbox", on: { change: keys.turn } });
  box.checked = keys.areOn();
  return h("label", { class: "choice" }, box, " Shortcuts of a single key (⌘K or Ctrl+K always works)");
}
