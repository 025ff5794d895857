// Routing by URL fragment: #/agent/Lyra is the view `agent` with the parameter `Lyra`. The selection is always in
// the URL, so that tabs, reloads and the back button agree.

import { VIEWS } from "./views/views.js";

/** The URL fragment of a view: link("agent", "Lyra"). */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(...parts) {
  location.hash = link(...parts);
}

/** The view and the parameters in the URL. */
export function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const view = VIEWS.find((each) => each.name === name) ?? VIEWS[0];
  return { view, params: view.name === name ? rest : [] };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let shown = null;

/** Show the view in the URL, now and after every change. */
export function start(main) {
  addEventListener("hashchange", () => show(main));
  return show(main);
}

async function show(main) {
  if (location.hash === "#main") return main.focus(); // the skip link
  const { view, params } = route();
  const key = location.hash;
  shown = key;
  await view.load();
  if (shown !== key) return; // the user navigated on while the module loaded
  const element = document.createElement(view.element);
  element.params = params;
  main.replaceChildren(element);
  document.dispatchEvent(new CustomEvent("routed", { detail: { view, params } }));
}
