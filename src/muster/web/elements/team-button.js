// The team's one button: SUMMON in an empty team, WAKE if an agent sleeps, WAKING... while this tab waits for it. It asks
// first where WAKE would start agents that a person or a limit has stopped.

import { post } from "../api.js";
import { errorLine, h, pushButton, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { namesOf } from "../several.js";
import { store } from "../store.js";
import { openDialog } from "./dialog.js";

const KEY = "team";
const WAKING_MS = 60_000;
const PATHS = { SUMMON: "/api/agents/summon", WAKE: "/api/agents/wake" };
const HINTS = {
  SUMMON: "Create eight agents around the lead",
  WAKE: "Wake all sleeping agents, with their souls and transcripts",
};

class TeamButton extends Part {
  waking = null; // seats this tab is waking, or null

  start() {
    this.button ??= pushButton("", () => this.#press(), { class: "main" });
    this.error ??= errorLine();
    this.replaceChildren(this.button, this.error);
    this.watch(["team", "pending"], () => this.#paint());
    this.actKey("w", "SUMMON or WAKE", () => this.button.click());
  }

  async #press() {
    if (!this.#offered || this.#busy) return;
    const stopped = store.button === "WAKE" ? sleepers().filter(({ isStopped }) => isStopped) : [];
    return stopped.length ? this.#ask(stopped) : this.#send();
  }

  /** Send the request, for these agents or for all. */
  async #send(agents = null) {
    const what = store.button;
    const body = agents ? { agents: agents.map(({ id }) => id) } : {};
    const called = await store.act(KEY, what, () => post(PATHS[what], body));
    if (called && what === "WAKE") this.#await(called.agents.map(({ seat }) => seat));
    this.#paint();
  }

  #ask(stopped) {
    const others = sleepers().filter(({ isStopped }) => !isStopped);
    const run = (agents) => () => {
      dialog.close();
      this.#send(agents);
    };
    const dialog = openDialog(
      "Wake agents",
      h("p", { text: "These were stopped by a person or a limit:" }),
      h("p", { class: "names", text: namesOf(stopped) }),
      h(
        "div",
        { class: "buttons" },
        others.length
          ? h("button", {
              class: "main",
              text: `Wake the other ${others.length}`,
              on: { click: run(others) },
            })
          : null,
        h("button", {
          text: `Wake all ${stopped.length + others.length}`,
          on: { click: run([...others, ...stopped]) },
        }),
      ),
    );
  }

  #await(seats) {
    this.waking = seats;
    setTimeout(() => {
      this.waking = null;
      this.#paint();
    }, WAKING_MS);
  }

  get #busy() {
    const asleep = (seat) => ["sleeping", "unknown"].includes(store.agents.get(seat)?.status);
    if (this.waking && !this.waking.some((seat) => asleep(seat) && !store.agents.get(seat).failures))
      this.waking = null;
    return store.pending.has(KEY) || this.waking !== null;
  }

  /** SUMMON needs a lead, or a program for the agents that are born. */
  get #offered() {
    return store.button === "SUMMON" ? store.births : store.button !== null;
  }

  #paint() {
    const busy = this.#busy;
    setHidden(this.button, !busy && !this.#offered);
    setHidden(this, this.button.hidden && !store.failed.has(KEY));
    setText(this.button, busy ? "WAKING..." : (store.button ?? ""));
    this.button.title = HINTS[store.button] ?? "";
    this.button.disabled = busy;
    show(this.error, store.failed.get(KEY));
  }
}

const sleepers = () => store.shown.filter(({ status, disabled }) => status === "sleeping" && !disabled);

customElements.define("team-button", TeamButton);
