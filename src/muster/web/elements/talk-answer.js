// The result of a task, before everything that led to it: the answer or the reason of a failure, and a button that runs
// the same request again.

import { post } from "../api.js";
import { h, setAttribute, setHidden, setText } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { store } from "../store.js";
import { act, talks } from "../talks.js";
import { cut, visible } from "../visible.js";

const ANSWER_CHARS = 20_000;

class TalkAnswer extends Part {
  start() {
    this.className = "panel";
    this.pendingKey = `again:${this.conversation}`;
    this.request = h("p", { class: "request" });
    this.answer = h("div", { class: "answer" });
    this.working = h("p", { class: "muted" });
    this.again = h("button", { type: "button", data: { acts: "" }, on: { click: () => this.#again() } });
    this.error = h("p", { class: "error", role: "alert" });
    this.replaceChildren(
      h("h2", { text: "Answer" }),
      this.request,
      this.working,
      this.answer,
      h("div", { class: "row" }, this.again),
      this.error,
    );
    this.watch(["talks", "pending"], () => this.#paint());
  }

  #paint() {
    const talk = talks.get(this.conversation);
    if (!talk) return;
    const isOver = talk.outcome !== null;
    setText(this.request, cut(visible(talk.text), ANSWER_CHARS));
    setHidden(this.request, talk.text.length <= TITLE_CHARS); // else the heading is the whole request
    this.#paintWork(talk);
    const said = cut(talk.answer || talk.denied || talk.summary, ANSWER_CHARS);
    setHidden(this.answer, !isOver || !said);
    if (isOver && this.answer.shownText !== said) showMarkdown(this.answer, said);
    const asking = store.pending.has(this.pendingKey);
    setHidden(this.again, !isOver || !talks.session?.open);
    setText(this.again, asking ? "Asking …" : "Run again");
    setAttribute(this.again, "aria-disabled", asking ? "true" : null);
    setText(this.error, store.failed.get(this.pendingKey) ?? "");
  }

  #paintWork(talk) {
    const agent = talk.outcome === null ? store.agent(talk.state) : null;
    setHidden(this.working, talk.outcome !== null);
    if (talk.outcome !== null || this.shown === talk.state) return;
    this.shown = talk.state;
    const who = visible(talk.state, 60);
    this.working.replaceChildren(
      agent ? h("a", { href: link("agent", agent.id), text: who }) : who,
      agent ? " is working on it. Its page shows each step, and stops it." : ": no answer yet.",
    );
  }

  async #again() {
    if (store.pending.has(this.pendingKey)) return;
    const { text, route } = talks.get(this.conversation);
    const to = route?.rule === "person" ? { to: route.agent } : {};
    const asked = await act(this.pendingKey, "Asking", () =>
      post("/api/conversations", { text, wait: false, ...to }),
    );
    if (asked) go("conversation", asked.conversation);
  }
}

export const TITLE_CHARS = 120; // of a request in the heading of its page

customElements.define("talk-answer", TalkAnswer);
