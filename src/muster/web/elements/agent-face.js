// The face of an agent, drawn from its colour and faceVariant; an egg while the agent is hatching.

import { svg } from "../dom.js";

const SKIN = /^#[0-9a-f]{6}$/i;
const EYES = {
  standard: (ink) => [22, 42].map((x) => svg("circle", { cx: x, cy: 30, r: 3, fill: ink })),
  wide: (ink) =>
    [22, 42].flatMap((x) => [
      svg("circle", { cx: x, cy: 30, r: 5, fill: "#fff" }),
      svg("circle", { cx: x, cy: 30, r: 2.5, fill: ink }),
    ]),
  narrow: (ink) =>
    [22, 42].map((x) => svg("rect", { x: x - 4, y: 29, width: 8, height: 2.5, rx: 1, fill: ink })),
  closed: (ink) => [22, 42].map((x) => curve(`M${x - 4} 29 q4 4 8 0`, ink)),
  bright: (ink) => [22, 42].map((x) => curve(`M${x - 4} 32 q4 -6 8 0`, ink)),
  square: (ink) => [22, 42].map((x) => svg("rect", { x: x - 3, y: 27, width: 6, height: 6, fill: ink })),
};
const MOUTHS = {
  gentle: (ink) => [curve("M25 43 q7 5 14 0", ink)],
  wide: (ink) => [svg("path", { d: "M23 41 h18 a9 8 0 0 1 -18 0", fill: ink })],
  straight: (ink) => [curve("M25 44 h14", ink)],
  open: (ink) => [svg("ellipse", { cx: 32, cy: 44, rx: 4, ry: 5, fill: ink })],
  wry: (ink) => [curve("M25 45 q8 1 14 -4", ink)],
  small: (ink) => [curve("M29 44 q3 2 6 0", ink)],
};

const curve = (d, ink) =>
  svg("path", { d, fill: "none", stroke: ink, "stroke-width": 2.5, "stroke-linecap": "round" });

/** The face of an agent. Hidden from screen readers: its name is always beside it. */
export function face(agent) {
  const document = agent.document ?? {};
  const picture = svg("svg", {
    viewBox: "0 0 64 64",
    class: "face",
    "aria-hidden": "true",
    focusable: "false",
  });
  if (agent.status === "hatching") {
    picture.classList.add("egg");
    picture.append(...egg(colour(document.color, agent.seat)));
    return picture;
  }
  const skin = colour(document.color, agent.seat);
  const ink = dark(skin) ? "#ffffff" : "#1f2328";
  const { eyes = "standard", mouth = "gentle" } = document.faceVariant ?? {};
  picture.append(
    svg("rect", { width: 64, height: 64, rx: 14, fill: skin, opacity: 0.28 }),
    svg("circle", { cx: 32, cy: 34, r: 24, fill: skin }),
    hair(agent, skin),
    ...pick(EYES, eyes)(ink),
    ...pick(MOUTHS, mouth)(ink),
  );
  return picture;
}

/** The drawing for a variant; an unknown variant maps to a fixed one by its hash. */
function pick(ways, word) {
  return ways[word] ?? Object.values(ways)[hash(word) % Object.keys(ways).length];
}

function hair(agent, skin) {
  const tint = mix(skin, -60);
  const cuts = [
    "M10 26 a22 20 0 0 1 44 0 q-22 -12 -44 0",
    "M9 30 a23 23 0 0 1 46 0 q-8 -14 -23 -13 q-15 -1 -23 13",
    "M12 24 a21 19 0 0 1 40 0 l-8 -5 l-6 4 l-6 -5 l-6 5 l-6 -4 z",
    "M14 20 a20 16 0 0 1 36 0 q-18 -8 -36 0",
  ];
  return svg("path", {
    d: cuts[hash(`${agent.document?.gender ?? ""}${agent.name ?? agent.seat}`) % cuts.length],
    fill: tint,
  });
}

function egg(tint) {
  return [
    svg("path", {
      d: "M32 8 C46 8 52 30 52 40 A20 18 0 0 1 12 40 C12 30 18 8 32 8Z",
      fill: "#f3e9d6",
      stroke: tint,
      "stroke-width": 3,
    }),
    svg("path", {
      d: "M14 38 l7 -5 l6 6 l6 -7 l6 7 l6 -6 l6 5",
      fill: "none",
      stroke: tint,
      "stroke-width": 2,
      class: "crack",
    }),
  ];
}

function colour(text, seat) {
  return SKIN.test(text ?? "")
    ? text
    : `#${["8ab4d8", "d8a48a", "9ad88a", "c9b1e8", "e8d18a", "8ad8cf"][seat % 6]}`;
}

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const dark = (hex) =>
  parts(hex).reduce((sum, part, index) => sum + part * [0.299, 0.587, 0.114][index], 0) < 110;
const twoDigits = (part) => Math.min(255, Math.max(0, part)).toString(16).padStart(2, "0");
const mix = (hex, by) => ["#", ...parts(hex).map((part) => twoDigits(part + by))].join("");
const hash = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) >>> 0, 7);
