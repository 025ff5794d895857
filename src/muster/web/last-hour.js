// The last hour of each agent as small bars of five minutes: its tool calls, messages, requests and failures.

import { get } from "./api.js";
import { setAttribute, svg } from "./dom.js";

const BARS = 12;
const POINTS = 60; // calls within a minute are one
const HEIGHT = 14;

/** How much each agent did in each part of the last hour, by seat. */
export async function lastHour() {
  const { from, to, lanes } = await get(`/api/timeline/work?points=${POINTS}`);
  const [start, end] = [from, to].map(Date.parse);
  const bar = ({ at }) => Math.min(BARS - 1, Math.floor((BARS * (Date.parse(at) - start)) / (end - start)));
  return new Map(
    lanes.map(({ seat, calls, marks }) => {
      const bars = Array(BARS).fill(0);
      for (const each of [...calls, ...marks]) if (bar(each) >= 0) bars[bar(each)] += each.count ?? 1;
      return [seat, bars];
    }),
  );
}

export const makeSpark = () =>
  svg("svg", { class: "spark", viewBox: `0 0 ${BARS * 4} ${HEIGHT}`, role: "img", hidden: "" }, svg("path"));

/** Draw the bars; an hour without work shows nothing. */
export function paintSpark(spark, bars = []) {
  const most = Math.max(0, ...bars);
  const all = bars.reduce((sum, each) => sum + each, 0);
  const high = (each) => Math.max(2, Math.round((HEIGHT * each) / most));
  const drawn = bars.map((each, at) => each && `M${at * 4} ${HEIGHT}v-${high(each)}h3v${high(each)}z`);
  setAttribute(spark.firstChild, "d", drawn.filter(Boolean).join(""));
  setAttribute(spark, "aria-label", `Work of the last hour: ${all} calls and messages`);
  setAttribute(spark, "hidden", all === 0);
}
