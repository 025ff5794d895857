// The colours of states, as a canvas can use them: it knows neither light-dark() nor custom properties.

const TOKENS = [
  "ink",
  "muted",
  "line",
  "raised",
  "card",
  "accent",
  "on-accent",
  "alive",
  "amber",
  "hatching",
  "bad",
];
let known = null;

/** The colours of the page as it is now: light or dark. */
export function paletteOf(element) {
  const theme = `${document.documentElement.dataset.theme ?? ""} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
  if (known?.theme === theme) return known.colours;
  const probe = document.createElement("span");
  element.append(probe);
  const colours = {};
  for (const token of TOKENS) {
    probe.style.setProperty("color", `var(--${token})`);
    colours[token] = getComputedStyle(probe).color;
  }
  probe.remove();
  known = { theme, colours };
  return colours;
}

// Which token a state is painted with; what is not here is not painted.
const STATES = {
  identity: { hatching: "hatching", alive: "alive", sleeping: "amber", unknown: "raised", expired: "line" },
  run: { continuous: "accent", run_once: "accent", run_cleanup: "accent", pause: "raised" },
  turns: { IDLE: "raised", QUEUED: "line", ACTIVE: "accent", WAITING: "amber" },
  delegation: { working: "hatching" },
};
const PALE = new Set(["raised", "line"]);

/** How a state is painted: {fill, ink}, or null where there is nothing to see. */
export function stateColour(machine, state, colours) {
  const token = STATES[machine]?.[state];
  if (!token) return null;
  return { fill: colours[token], ink: PALE.has(token) ? colours.ink : colours["on-accent"] };
}
