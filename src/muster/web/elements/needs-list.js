// "Needs you": agents that wait for a person, are stuck, failed, or have conflicting reports. First on the page.

import "./approval-list.js";
import { canDismiss, dismiss, needs, WORDS } from "../attention.js";
import { secondsSince, span } from "../clock.js";
import { h, keyed, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { store } from "../store.js";
import { face } from "./agent-face.js";

class NeedsList extends Part {
  start() {
    this.heading ??= h("h2", { id: "needs" });
    this.list ??= h("ul", { "aria-labelledby": "needs" });
    this.replaceChildren(this.heading, h("approval-list"), this.list);
    const paint = () => this.#paint();
    this.watch(["team", "agents", "channels"], paint);
    this.tick(paint);
    this.key("n", "Go to the first agent that needs you", () => {
      const [first] = needs();
      return first ? go("agent", first.id) : false;
    });
  }

  #paint() {
    const found = needs();
    // The tick may hide this list before approval-list repaints: an element that is hidden loses the focus silently.
    if (!found.length && this.contains(document.activeElement)) document.getElementById("main").focus();
    setHidden(this, found.length === 0);
    setText(this.heading, `Needs you (${found.length})`);
    keyed(
      this.list,
      found.filter(({ kind }) => kind !== "approval"), // shown by approval-list above
      ({ key }) => key,
      (need) => this.#row(need),
      (row, need) => this.#update(row, need),
    );
  }

  #row(need) {
    const row = h("li", { data: { kind: need.kind } });
    row.why = h("span", { class: "why" });
    row.age = h("span", { class: "age" });
    row.append(
      face(store.agents.get(need.seat)),
      h("a", { href: link("agent", need.id) }, h("strong", { text: need.id }), ` ${WORDS[need.kind]}`),
      row.why,
      row.age,
    );
    if (need.channel)
      row.append(
        h("a", {
          class: "button",
          href: link("channel", need.channel),
          text: "Answer",
          "aria-label": `Answer ${need.id} in ${need.channel}`,
        }),
      );
    if (canDismiss(need)) {
      row.append(
        h("button", {
          type: "button",
          class: "quiet",
          text: "Dismiss",
          "aria-label": `Dismiss: ${need.id}`,
          on: { click: () => dismiss(need) },
        }),
      );
    }
    return row;
  }

  #update(row, need) {
    setText(row.why, need.why);
    setText(row.age, need.since ? `for ${span(secondsSince(need.since))}` : "");
  }
}

customElements.define("needs-list", NeedsList);
