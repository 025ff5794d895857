// A menu of a button: a popover with one button for each item. Arrow keys move, Enter presses, Escape closes.

import { h, pushButton } from "../dom.js";

const MARGIN = 8;

/** Open a menu below a button. Items are {label, color, run}. The menu is removed when it closes. */
export function openMenu(opener, label, items) {
  const menu = h(
    "div",
    { class: "menu", role: "menu", "aria-label": label, popover: "auto" },
    items.map(({ label: text, color, run }) =>
      pushButton(text, () => choose(menu, opener, run), {
        role: "menuitem",
        tabindex: "-1",
        data: { color: color ?? "" },
      }),
    ),
  );
  menu.addEventListener("keydown", (event) => move(event, menu, opener));
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && close(menu, opener));
  document.getElementById("main").append(menu); // within a landmark
  opener.setAttribute("aria-expanded", "true");
  menu.showPopover();
  place(menu, opener.getBoundingClientRect());
  menu.firstElementChild?.focus();
}

function choose(menu, opener, run) {
  menu.hidePopover();
  opener.focus();
  run();
}

function close(menu, opener) {
  opener.setAttribute("aria-expanded", "false");
  menu.remove();
}

/** Below the button, or above it where there is no room. */
function place(menu, { left, right, top, bottom }) {
  const { width, height } = menu.getBoundingClientRect();
  const x = Math.min(Math.max(MARGIN, right - width), innerWidth - width - MARGIN);
  const below = bottom + height + MARGIN <= innerHeight;
  menu.style.setProperty("left", `${Math.max(MARGIN, Math.min(x, left + width))}px`);
  menu.style.setProperty("top", `${below ? bottom + 4 : Math.max(MARGIN, top - height - 4)}px`);
}

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

function move(event, menu, opener) {
  event.stopPropagation(); // the page's shortcuts do not act behind an open menu
  if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    menu.hidePopover();
    opener.focus();
  }
  const by = STEPS[event.key];
  if (!by) return;
  event.preventDefault();
  const items = [...menu.children];
  const at = items.indexOf(document.activeElement);
  items[(at + by + items.length) % items.length].focus();
}
