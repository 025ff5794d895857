// State colours for the canvas, which supports neither light-dark() nor custom properties.

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

/** The colours of the current theme, cached until the theme changes. */
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

// Colour token of each state; a state that is missing here is not painted.
const STATES = {
  identity: { hatching: "hatching", alive: "alive", sleeping: "amber", unknown: "raised", expired: "line" },
  run: { continuous: "accent", run_once: "accent", run_cleanup: "accent", pause: "raised" },
  turns: { IDLE: "raised", QUEUED: "line", ACTIVE: "accent", WAITING: "amber" },
  delegation: { working: "hatching" },
};
const PALE = new Set(["raised", "line"]);

/** Colours of a state: {fill, ink}, or null if it is not painted. */
export function stateColour(machine, state, colours) {
  const token = STATES[machine]?.[state];
  if (!token) return null;
  return { fill: colours[token], ink: PALE.has(token) ? colours.ink : colours["on-accent"] };
}
