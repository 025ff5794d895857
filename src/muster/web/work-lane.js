// One lane of the timeline of the work: when the agent ran, had the turn and called tools, and what happened.

export const WORK_LANE = 26;
const CALLS = 8; // the height of the band of tool calls, below the turns
const MARK = 6;
const NEAR_PX = 8;

/** The marks: a shape each, so that colour is not needed to tell them apart. */
const MARKS = {
  message: { token: "accent", draw: diamond, word: "said" },
  person: { token: "muted", draw: circle, word: "was told" },
  approval: { token: "amber", draw: triangle, word: "asked for approval" },
  failure: { token: "bad", draw: cross, word: "failed" },
};
const CALL_TOKENS = { done: "alive", failed: "bad", running: "accent" };
const TURN_TOKENS = { ACTIVE: "accent", WAITING: "amber" };

/** Lanes by agent: what it did, from the lanes of states and the work. */
export function workLanes(lanes, work) {
  const agents = new Map();
  for (const { seat, name, machine, spans } of lanes) {
    if (seat === null || machine === "delegation") continue;
    const lane = agents.get(seat) ?? { seat, name, turns: [], run: [], calls: [], marks: [] };
    if (machine === "turns" || machine === "run") lane[machine] = spans;
    agents.set(seat, lane);
  }
  for (const { seat, calls, marks } of work?.lanes ?? [])
    Object.assign(agents.get(seat) ?? {}, { calls: calls.map(timed), marks: marks.map(timed) });
  return [...agents.values()];
}

const timed = (each) => ({
  ...each,
  at: Date.parse(each.at),
  until: each.until ? Date.parse(each.until) : null,
});

/** Paint a lane at a height. `x` maps a time to the canvas; `end` is the end of what is known. */
export function paintWork(pen, lane, y, { x, left, end, colours }) {
  const bar = (from, until, token, top, height, alpha = 1) => {
    const begin = Math.max(left, x(from));
    const wide = Math.max(1.5, x(Math.min(until, end)) - begin);
    if (x(until) < left || from > end) return;
    pen.globalAlpha = alpha;
    pen.fillStyle = colours[token];
    pen.fillRect(begin, y + top, wide, height);
    pen.globalAlpha = 1;
  };
  const until = (spans, index) => spans[index + 1]?.at ?? end;
  lane.run.forEach((span, index) => {
    if (span.state !== "pause") bar(span.at, until(lane.run, index), "raised", 0, WORK_LANE - 4);
  });
  lane.turns.forEach((span, index) => {
    const token = TURN_TOKENS[span.state];
    if (token) bar(span.at, until(lane.turns, index), token, 2, WORK_LANE - CALLS - 8, 0.45);
  });
  for (const call of lane.calls)
    bar(call.at, call.until ?? end, CALL_TOKENS[call.state], WORK_LANE - CALLS - 5, CALLS);
  for (const mark of lane.marks) paintMark(pen, mark, x(mark.at), y + 8, left, colours);
}

function paintMark(pen, mark, x, y, left, colours) {
  if (x < left) return;
  const { token, draw } = MARKS[mark.kind];
  pen.fillStyle = pen.strokeStyle = colours[token];
  draw(pen, x, y);
  if (mark.count < 2) return;
  pen.font = "600 10px system-ui, sans-serif";
  pen.fillText(`${mark.kind === "failure" ? "↻" : "×"}${mark.count}`, x + MARK + 1, y);
}

/** What stands at a place of a lane, in words; or empty. */
export function toldAt(lane, at, x) {
  const mark = lane.marks.findLast((each) => Math.abs(x(each.at) - x(at)) < NEAR_PX);
  if (mark) {
    const times = mark.count > 1 ? ` ${mark.count} times` : "";
    return `${MARKS[mark.kind].word}${times}: ${mark.text} (event ${mark.seq})`;
  }
  const call = lane.calls.findLast((each) => each.at <= at && (each.until ?? Infinity) >= at);
  if (call) return `${call.name}, ${call.state} (event ${call.seq})`;
  const turn = lane.turns.findLast((each) => each.at <= at);
  return turn && TURN_TOKENS[turn.state] ? `${turn.state} (event ${turn.seq})` : "";
}

/** The cost over the time, as bars from a base line. */
export function paintCosts(pen, costs, { x, left, base, height, colours }) {
  const most = Math.max(...costs.map(({ costUsd }) => costUsd), 0);
  if (!most) return;
  pen.fillStyle = colours.accent;
  pen.globalAlpha = 0.7;
  for (const { at, costUsd } of costs) {
    const tall = Math.max(2, (costUsd / most) * height);
    const from = x(Date.parse(at));
    if (from >= left) pen.fillRect(from, base - tall, 4, tall);
  }
  pen.globalAlpha = 1;
}

function diamond(pen, x, y) {
  polygon(pen, [x, y - MARK], [x + MARK, y], [x, y + MARK], [x - MARK, y]);
  pen.fill();
}

function triangle(pen, x, y) {
  polygon(pen, [x, y - MARK], [x + MARK, y + MARK], [x - MARK, y + MARK]);
  pen.fill();
}

function circle(pen, x, y) {
  pen.beginPath();
  pen.arc(x, y, MARK - 2, 0, 2 * Math.PI);
  pen.fill();
}

function cross(pen, x, y) {
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.moveTo(x - MARK + 1, y - MARK + 1);
  pen.lineTo(x + MARK - 1, y + MARK - 1);
  pen.moveTo(x + MARK - 1, y - MARK + 1);
  pen.lineTo(x - MARK + 1, y + MARK - 1);
  pen.stroke();
}

function polygon(pen, [x, y], ...rest) {
  pen.beginPath();
  pen.moveTo(x, y);
  for (const [a, b] of rest) pen.lineTo(a, b);
  pen.closePath();
}
