// Building and updating elements. Text is always inserted as text; HTML only through trusted.js.

/** Create an element. Props: `class`, `text`, `on: {click}`, `data: {…}`, `style: {"--x": …}`, else attributes. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) assign(element, name, value);
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Create a button that calls `click`. Other props as for `h`. */
export const pushButton = (text, click, props = {}) =>
  h("button", { type: "button", text, on: { click }, ...props });

/** Create a line for an error; `show` fills it. */
export const errorLine = () => h("p", { class: "error", role: "alert", hidden: true });

/** The parts of a sentence of muster's, in which commands stand between backticks. */
export const coded = (text) =>
  text.split("\u0060").map((part, at) => (at % 2 ? h("code", { text: part }) : part));

/** Create an SVG element. */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
  element.append(...children.flat().filter(Boolean));
  return element;
}

function assign(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "text") element.textContent = value;
  else if (name === "class") element.className = value;
  else if (name === "on")
    for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "style")
    for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Set the text if it differs: an unchanged node does not flicker and keeps the user's selection. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set an attribute if it differs; null removes it. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value === true ? "" : value)) {
    node.setAttribute(name, value === true ? "" : value);
  }
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/** Show a text in a node, and hide the node where there is none. */
export function show(node, text) {
  setText(node, text || "");
  setHidden(node, !text);
}

/** Reconcile the children of a node with a list of items, in order; elements are kept by key. An element that was
 *  moved to another parent meanwhile stays there. */
export function keyed(parent, items, keyOf, make, update = () => {}) {
  const old = parent.keyedChildren ?? new Map();
  const now = new Map();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const kept = old.get(key);
    const element = kept?.parentNode === parent ? kept : make(item);
    update(element, item);
    now.set(key, element);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const [key, element] of old) if (!now.has(key) && element.parentNode === parent) element.remove();
  parent.keyedChildren = now;
}
