// The agents that were retired: their souls and transcripts, and the button that brings one back. Hidden while there
// are none.

import { get, idOf, path, post } from "../api.js";
import { errorLine, h, keyed, pushButton, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { soul, transcript } from "./agent-records.js";
import "./tab-set.js";

const TYPES = new Set(["agent_retired", "agent_restored", "agents_summoned"]);

class RetiredList extends Part {
  start() {
    this.summary = h("summary");
    this.list = h("ul");
    this.error = errorLine();
    this.replaceChildren(h("details", {}, this.summary, this.list, this.error));
    setHidden(this, true);
    this.listen((events) => events.some(({ type }) => TYPES.has(type)) && this.#load());
    this.#load();
  }

  #asked = 0;

  async #load() {
    this.#asked += 1;
    const asked = this.#asked;
    const { agents } = await get("/api/agents?retired=true").catch(() => ({ agents: [] }));
    if (asked !== this.#asked) return; // a later answer knows more
    const retired = agents.filter((agent) => agent.retired);
    setHidden(this, !retired.length);
    setText(this.summary, `Retired agents (${retired.length})`);
    keyed(
      this.list,
      retired,
      ({ seat }) => seat,
      (agent) => this.#row(agent),
    );
  }

  #row({ name, seat }) {
    const id = idOf({ seat }); // the name may be another agent's by now
    const button = pushButton("Bring back", () => this.#restore(button, id), {
      data: { acts: "operator" },
      "aria-label": `Bring back ${name}`,
    });
    const details = h("details", {}, h("summary", {}, h("bdi", { text: name }), ` seat ${seat}`));
    details.addEventListener("toggle", () => details.childElementCount > 1 || details.append(records(seat)));
    return h("li", {}, details, button);
  }

  async #restore(button, id) {
    button.disabled = true;
    show(this.error, "");
    try {
      await post(path`/api/agents/${id}/restore`);
    } catch (problem) {
      button.disabled = false;
      show(this.error, problem.message);
    }
  }
}

/** What stays of a retired agent: its soul, and what was said. */
function records(seat) {
  const tabs = document.createElement("tab-set");
  tabs.tabs = [
    { name: "Soul", make: () => soul({ seat }) },
    { name: "Transcript", make: () => transcript({ seat }) },
  ];
  return tabs;
}

customElements.define("retired-list", RetiredList);
