// Keyboard shortcuts: views and elements register theirs here, and `?` lists them all. Those of a single key can be turned off:
// they are in the way of speech input. With ⌘ or Ctrl and K the palette opens in any case.

const bindings = []; // newest first: a view's shortcut takes precedence over the page's

/** Register a shortcut. Returns a function that removes it. */
export function add(key, say, run) {
  const binding = { key, say, run };
  bindings.unshift(binding);
  return () => bindings.splice(bindings.indexOf(binding), 1);
}

const OFF = "keys-off";

/** Whether shortcuts of a single key work. */
export const areOn = () => localStorage.getItem(OFF) === null;

/** Turn shortcuts of a single key on or off. */
export const turn = () => (areOn() ? localStorage.setItem(OFF, "yes") : localStorage.removeItem(OFF));

let palette = () => {};

/** Set what ⌘K or Ctrl+K opens. */
export const onPalette = (open) => {
  palette = open;
};

/** All shortcuts, the page's own first. */
export const all = () => [...bindings].reverse();

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) palette();
    return;
  }
  if (!areOn() && event.key.length === 1) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || writing(event.target))
    return;
  if (document.querySelector("dialog[open]")) return;
  for (const { key, run } of [...bindings]) {
    if (key !== event.key) continue;
    if (run(event) === false) continue; // the handler declined: try the next binding
    event.preventDefault();
    return;
  }
});

/** Whether the target is a text field, where keys are text. A field of a dialog that is closing does not count: it keeps
 *  the focus for a moment. */
function writing(target) {
  const field = target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  return Boolean(field) && !field.closest("dialog:not([open])");
}
