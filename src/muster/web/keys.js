// Keys. Whoever has something to be done by a key says so here, and `?` shows them all.

const bindings = []; // the newest first: a view's key goes before one of the page

/** Do something at a key. Returns how to take it back. */
export function add(key, say, run) {
  const binding = { key, say, run };
  bindings.unshift(binding);
  return () => bindings.splice(bindings.indexOf(binding), 1);
}

/** Every key with what it does, the page's own first. */
export const all = () => [...bindings].reverse();

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || writing(event.target))
    return;
  if (document.querySelector("dialog[open]")) return;
  for (const { key, run } of [...bindings]) {
    if (key !== event.key) continue;
    if (run(event) === false) continue; // not for it, now
    event.preventDefault();
    return;
  }
});

/** Whether somebody is writing there: then keys are letters. A dialog that is closed keeps the focus for a moment. */
function writing(target) {
  const field = target.closest?.("input, textarea, select, [contenteditable]");
  return Boolean(field) && !field.closest("dialog:not([open])");
}
