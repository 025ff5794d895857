// The team at a moment in the past: the badge and the turns of every agent, and the turn holder of every channel.

import { look, meaning, paintBadge } from "../badge.js";
import { stateOf } from "../channels.js";
import { span } from "../clock.js";
import { h, keyed, setText } from "../dom.js";
import { face } from "./agent-face.js";

class TeamThen extends HTMLElement {
  connectedCallback() {
    if (this.agents) return;
    this.agents = h("ul", { class: "then" });
    this.channels = h("ul", { class: "then-channels" });
    this.append(h("h2", { text: "Team at that time" }), this.agents, this.channels);
  }

  /** Show a team state, or nothing (null). */
  show(state) {
    const shown = (state?.agents ?? []).filter(({ status }) => status !== "expired");
    // The face may differ from the present one: its data is part of the key.
    keyed(
      this.agents,
      shown,
      (each) => JSON.stringify([each.seat, each.id, each.status === "hatching", each.document]),
      card,
      (item, agent) => paint(item, agent, Date.parse(state.now)),
    );
    keyed(
      this.channels,
      state?.channels ?? [],
      ({ channel }) => channel,
      () => h("li"),
      (item, channel) => setText(item, `#${channel.channel}: ${stateOf(channel).long}`),
    );
    this.dataset.seq = state?.seq ?? "";
  }
}

function card(agent) {
  return h(
    "li",
    {},
    face(agent),
    h("strong"),
    h("span", { class: "badge run" }),
    h("span", { class: "meaning" }),
    h("span", { class: "turns" }),
    h("span", { class: "age" }),
  );
}

function paint(item, agent, then) {
  const [, name, run, line, turns, age] = item.children;
  item.dataset.status = look(agent);
  setText(name, agent.name ?? `seat ${agent.seat}`);
  paintBadge(run, agent.badge);
  setText(line, meaning(agent.badge, then));
  keyed(
    turns,
    Object.entries(agent.channels),
    ([channel]) => channel,
    ([channel]) => h("span", {}, `#${channel} `, h("span", { class: "badge turn" })),
    (element, [, turn]) => {
      setText(element.lastChild, turn);
      element.lastChild.dataset.turn = turn;
    },
  );
  setText(age, agent.evidence ? `${agent.evidence.kind}, ${span(agent.evidence.ageSeconds)} before` : "");
}

customElements.define("team-then", TeamThen);
