// Routing by URL fragment: #/agent/Lyra is the view `agent` with the parameter `Lyra`. The selection is always in
// the URL, so that tabs, reloads and the back button agree.

import { h } from "./dom.js";
import { VIEWS } from "./views/views.js";

const UNKNOWN = "There is no page at this address. This is the team.";

/** The URL fragment of a view: link("agent", "Lyra"). */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(...parts) {
  location.hash = link(...parts);
}

/** The seat that the place in the history led to, however its agent was called then. */
export const seatHere = () => history.state?.seat;

/** Have the URL say the present name of the agent that is shown; Back and reload lead to its seat. */
export function renamed(seat, ...parts) {
  shown = link(...parts);
  history.replaceState({ ...history.state, seat }, "", shown);
}

/** The view and the parameters in the URL. */
export function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const view = VIEWS.find((each) => each.name === name) ?? VIEWS[0];
  return { view, params: view.name === name ? rest : [], isUnknown: view.name !== name };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let shown = null;
let entry = 0; // the number of the place in the browser's history that is shown
const scrolled = new Map(); // how far each of these places was scrolled

/** Show the view in the URL, now and after every change. */
export function start(main) {
  history.scrollRestoration = "manual"; // the content of a place is not there yet when the browser would scroll
  addEventListener("hashchange", () => show(main));
  show(main);
}

function show(main) {
  if (location.hash === "#main") return main.focus(); // the skip link
  const { view, params, isUnknown } = route();
  const isFirst = shown === null;
  shown = location.hash;
  scrolled.set(entry, scrollY);
  const element = document.createElement(view.element);
  element.params = params;
  main.replaceChildren(element);
  if (isUnknown) main.prepend(h("p", { class: "notice", role: "alert", text: UNKNOWN }));
  if (!main.contains(document.activeElement) && !isFirst) main.focus({ preventScroll: true });
  goToPlace();
  document.dispatchEvent(new CustomEvent("routed", { detail: { view, params } }));
}

/** Scroll to where one was: a place that was left is found again with Back, a new one begins at its top. */
function goToPlace() {
  entry = history.state?.entry ?? Math.max(entry, ...scrolled.keys()) + 1;
  history.replaceState({ ...history.state, entry }, "");
  scrollTo(0, scrolled.get(entry) ?? 0);
}
