// What the agent of a task does while it works on it: its tool calls, live.

import "./agent-work.js";
import { h, setHidden } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { talks } from "../talks.js";
import { workerOf } from "../tasks.js";

class TalkWork extends Part {
  start() {
    this.className = "panel";
    this.hidden = true;
    this.watch(["talks", "agents", "events"], () => this.#paint());
  }

  #paint() {
    const talk = talks.get(this.conversation);
    const agent = talk ? store.agent(workerOf(talk) ?? "") : null;
    if (agent && this.seat !== agent.seat) {
      this.seat = agent.seat;
      const { startedAt: from, endedAt } = talk;
      this.work = Object.assign(document.createElement("agent-work"), { seat: agent.seat, from });
      this.work.upto = endedAt;
      this.replaceChildren(h("h2", { text: "Work" }), this.work);
    }
    if (this.work) this.work.upto = talk.endedAt;
    setHidden(this, !this.work?.steps?.size);
  }
}

customElements.define("talk-work", TalkWork);
