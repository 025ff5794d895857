// Undo for some seconds: what was pressed, with a button and a key that take it back.

import { h, pushButton } from "./dom.js";
import * as keys from "./keys.js";

const SHOWN_MS = 8000;
let shown = null;

/** Say what was done, and offer to take it back. The last offer replaces the one before it. */
export function offerUndo(text, undo) {
  shown?.close();
  const take = () => {
    close();
    undo();
  };
  const toast = h(
    "div",
    { class: "toast", role: "status" },
    h("span", { text }),
    pushButton("Undo (u)", take),
  );
  const end = keys.add("u", "Undo", take);
  const timer = setTimeout(() => close(), SHOWN_MS);
  const close = () => {
    clearTimeout(timer);
    end();
    toast.remove();
    if (shown?.toast === toast) shown = null;
  };
  shown = { toast, close };
  document.body.append(toast);
}
