// "Since you left": what was done, failed and asked since the person last looked, and what it cost.

import { moment, span } from "../clock.js";
import { dollars } from "../costs.js";
import { h, pushButton, setHidden, svg } from "../dom.js";
import { digest, read } from "../looks.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { visible } from "../visible.js";

const SHOWN = 5;
const WHAT_CHARS = 120;
const SIGNS = { done: "✓", failed: "✗", asked: "?" };

class SincePanel extends Part {
  start() {
    this.watch("team", () => this.#paint());
  }

  #paint() {
    const found = digest();
    setHidden(this, !found);
    if (this.shown === found) return;
    this.shown = found;
    if (!found) return this.replaceChildren();
    const rows = found.entries.map(row);
    const more = pushButton(
      `Show all ${rows.length}`,
      () => {
        for (const each of rows) each.hidden = false;
        more.remove();
      },
      { class: "quiet", hidden: rows.length <= SHOWN },
    );
    for (const each of rows.slice(SHOWN)) each.hidden = true;
    this.replaceChildren(
      h(
        "div",
        { class: "line" },
        h("h2", { id: "since", text: "Since you left" }),
        h("p", { class: "muted" }, since(found)),
        h("p", { class: "counts" }, counts(found)),
        curve(found.curve),
        h("span", { class: "space" }),
        more,
        pushButton("Mark as read", read, { class: "button" }),
      ),
      h("ul", { "aria-labelledby": "since" }, rows),
      talked(found) ?? "",
    );
  }
}

function since({ since, until }) {
  const seconds = (Date.parse(until) - Date.parse(since)) / 1000;
  return `${moment(since)}, ${span(seconds)} ago`;
}

function counts({ done, failed, asked, spent }) {
  return [
    done && h("span", { class: "good", text: `${done} done` }),
    failed && h("span", { class: "bad", text: `${failed} failed` }),
    asked && h("span", { text: `${asked} asked` }),
    spent.costUsd && h("span", { text: `${dollars(spent.costUsd)} spent` }),
  ].filter(Boolean);
}

/** The cost over the time, as a small curve. */
function curve(parts) {
  const most = Math.max(...parts, 0);
  if (!most) return null;
  const bars = parts.map((cost, index) => {
    const height = cost ? Math.max(1, (cost / most) * 16) : 0;
    return svg("rect", { x: index * 4, y: 16 - height, width: 3, height });
  });
  const name = `Cost over this time, at most ${dollars(most)} in a part of it`;
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${parts.length * 4} 16`, role: "img", "aria-label": name },
    bars,
  );
}

function row({ kind, what, outcome, at, count, agent, seat, channel, conversation }) {
  const name = store.agents.get(seat)?.id ?? agent;
  const place = conversation
    ? ["conversation", conversation]
    : channel
      ? ["channel", channel]
      : ["agent", name];
  const title = conversation ? visible(what, WHAT_CHARS) : (name ?? "");
  const detail = conversation ? (kind === "failed" ? outcome : "") : what;
  return h(
    "li",
    { data: { kind } },
    h("span", { class: "sign", "aria-hidden": "true", text: SIGNS[kind] }),
    h("a", { href: link(...place) }, h("strong", { text: title })),
    h("span", { class: "muted", text: kind }),
    h("span", { class: "why", text: visible(detail, WHAT_CHARS) }),
    count > 1 && h("span", { class: "times", text: `×${count}` }),
    kind === "asked" && h("span", { class: "muted", text: outcome }),
    h("time", { class: "age", datetime: at, text: moment(at) }),
  );
}

function talked({ channels }) {
  if (!channels.length) return null;
  const links = channels.flatMap(({ channel, messages }) => [
    h("a", { href: link("channel", channel), text: `#${visible(channel, 60)}` }),
    ` ${messages}  `,
  ]);
  return h("p", { class: "muted talked" }, "Messages: ", links);
}

customElements.define("since-panel", SincePanel);
