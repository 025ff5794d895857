// The trace of a request: MAIN, the agents that worked on it, and MAIN again, with the reason and score of each step.

import { timeOfDay } from "../clock.js";
import { h, keyed, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { talks } from "../talks.js";
import { visible } from "../visible.js";

class TalkTrace extends Part {
  start() {
    this.className = "panel";
    this.way = h("p", { class: "way" });
    this.steps = h("ol", { class: "steps", "aria-label": "Steps" });
    this.denied = h("p", { class: "denied", hidden: true });
    this.rows = h("tbody");
    this.scores = h(
      "details",
      { hidden: true },
      h("summary", { text: "Candidates" }),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["agent", "score", "matched words"].map((text) => h("th", { text, scope: "col" })),
          ),
        ),
        this.rows,
      ),
    );
    this.replaceChildren(h("h2", { text: "Trace" }), this.way, this.steps, this.denied, this.scores);
    this.watch("talks", () => this.#paint());
  }

  #paint() {
    const talk = talks.get(this.conversation);
    if (!talk) return;
    this.#paintWay(talk);
    keyed(
      this.steps,
      stepsOf(talk),
      (step) => step.key,
      (step) => line(step),
    );
    setText(this.denied, talk.denied ? `Denied: ${visible(talk.denied, 1000)}` : "");
    setHidden(this.denied, !talk.denied);
    const candidates = talk.route?.candidates ?? [];
    setHidden(this.scores, !candidates.length);
    keyed(
      this.rows,
      candidates,
      ({ agent }) => agent,
      ({ agent, score, words }) =>
        h(
          "tr",
          {},
          h("td", { text: visible(agent, 60) }),
          h("td", { class: "number", text: score.toFixed(2) }),
          h("td", { text: visible((words ?? []).join(", "), 200) }),
        ),
    );
  }

  #paintWay(talk) {
    const way = wayOf(talk);
    const key = JSON.stringify([way, talk.outcome]);
    if (this.shown === key) return;
    this.shown = key;
    this.way.replaceChildren(
      ...way.flatMap((state, at) => [
        ...(at ? [h("span", { class: "arrow", "aria-label": "to", text: "→" })] : []),
        h("span", {
          class: "state",
          data: { now: String(at === way.length - 1 && talk.outcome === null) },
          text: visible(state, 60),
        }),
      ]),
    );
  }
}

/** The states of the conversation, in order. */
function wayOf(talk) {
  return talk.trace.length ? [talk.trace[0].from, ...talk.trace.map((step) => step.to)] : [talk.state];
}

/** The steps of the conversation, with reason and score. */
function stepsOf(talk) {
  const { route, trace } = talk;
  const scoreOf = (agent) => route?.candidates?.find((each) => each.agent === agent)?.score ?? null;
  const steps = trace.map((step, at) => ({
    ...step,
    key: `${at}:${step.from}:${step.to}`,
    score: scoreOf(step.to),
    route: at === 0 ? route : null,
  }));
  if (route && !trace.length)
    steps.push({
      key: "route",
      at: talk.startedAt,
      from: "MAIN",
      to: route.agent,
      reason: route.reason,
      score: scoreOf(route.agent),
      route,
    });
  return steps;
}

function line({ at, from, to, reason, score, route }) {
  const said =
    from === to ? `${visible(from, 60)} keeps the request` : `${visible(from, 60)} → ${visible(to, 60)}`;
  const told = route ? routeTold(route, score) : score === null ? "" : `score ${score.toFixed(2)}`;
  return h(
    "li",
    {},
    h("time", { class: "age", datetime: at, text: timeOfDay(at) }),
    h("strong", { text: said }),
    h("span", { class: "reason", text: visible(reason, 600) }),
    h("span", { class: "score muted", text: told }),
  );
}

function routeTold(route, score) {
  const points = score === null ? "" : `score ${score.toFixed(2)}, `;
  return `${points}confidence ${route.confidence.toFixed(2)}, margin ${route.margin.toFixed(2)}, decided by ${visible(route.rule, 40)}`;
}

customElements.define("talk-trace", TalkTrace);
