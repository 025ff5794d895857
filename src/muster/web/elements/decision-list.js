// Who allowed or denied what of an agent, the newest first. Loaded with the page, and after each answer.

import { idOf } from "../api.js";
import { byWhom, decisions } from "../approvals.js";
import { moment } from "../clock.js";
import { h, keyed, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { visible } from "../visible.js";

const REACH = { once: "", session: " for the session", always: " always" };

class DecisionList extends Part {
  start() {
    this.heading = h("summary");
    this.list = h("ul", { "aria-label": "Decisions" });
    this.replaceChildren(h("details", {}, this.heading, this.list));
    setHidden(this, true);
    this.listen((events) => events.some(({ type }) => type === "approval_answered") && this.#load());
    this.#load();
  }

  async #load() {
    const found = await decisions(idOf(this)).catch(() => null);
    if (!found) return;
    setHidden(this, found.decisions.length === 0);
    setText(this.heading, `Decisions (${found.decisions.length}${found.before ? "+" : ""})`);
    keyed(
      this.list,
      found.decisions,
      ({ id }) => id,
      (made) => row(made),
    );
  }
}

function row(made) {
  const { allow, tool, detail, note, scope, at } = made;
  return h(
    "li",
    {},
    h("strong", {
      class: allow ? "allowed" : "denied",
      text: `${allow ? "Allowed" : "Denied"}${REACH[scope]}`,
    }),
    ` ${byWhom(made)}, ${moment(at)}: `,
    h("code", { text: `${visible(tool, 60)} ${visible(detail.split("\n")[0], 120)}` }),
    note ? h("span", { class: "muted", text: ` (${visible(note, 200)})` }) : "",
  );
}

customElements.define("decision-list", DecisionList);
