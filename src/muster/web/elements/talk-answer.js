// The result of a task, before everything that led to it: the answer or the reason of a failure. A task that goes on
// can be cancelled; one that is over can be run again, and its agent asked for more.

import { errorLine, h, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { Part } from "../part.js";
import { link } from "../router.js";
import { store } from "../store.js";
import { talks } from "../talks.js";
import { againKey, canAsk, cancel, cancelKey, goOnFrom, goOnKey, runAgain } from "../tasks.js";
import { cut, visible } from "../visible.js";

const ANSWER_CHARS = 20_000;

class TalkAnswer extends Part {
  start() {
    this.className = "panel";
    this.request = h("p", { class: "request" });
    this.answer = h("div", { class: "answer" });
    this.working = h("p", { class: "muted" });
    this.cancel = button("Cancel the task", () => cancel(this.talk));
    this.again = button("Run again", () => runAgain(this.talk));
    this.more = h("input", {
      "aria-label": "Go on from this task",
      placeholder: "Ask for more. Its agent knows what went before.",
      autocomplete: "off",
    });
    this.form = h(
      "form",
      { class: "more", data: { acts: "" }, on: { submit: (event) => this.#goOn(event) } },
      this.more,
      h("button", { text: "Continue" }),
    );
    this.error = errorLine();
    this.replaceChildren(
      h("h2", { text: "Answer" }),
      this.request,
      this.working,
      this.answer,
      h("div", { class: "row" }, this.again, this.cancel, this.form),
      this.error,
    );
    this.watch(["talks", "pending"], () => this.#paint());
  }

  get talk() {
    return talks.get(this.conversation);
  }

  #paint() {
    const { talk } = this;
    if (!talk) return;
    const isOver = talk.outcome !== null;
    setText(this.request, cut(visible(talk.text), ANSWER_CHARS));
    setHidden(this.request, talk.text.length <= TITLE_CHARS); // else the heading is the whole request
    this.#paintWork(talk);
    const said = cut(talk.answer || talk.denied || talk.summary, ANSWER_CHARS);
    setHidden(this.answer, !isOver || !said);
    if (isOver && this.answer.shownText !== said) showMarkdown(this.answer, said);
    setHidden(this.cancel, isOver);
    setHidden(this.again, !isOver || !canAsk());
    setHidden(this.form, !isOver || !canAsk());
    press(this.cancel, cancelKey(talk), "Cancel the task");
    press(this.again, againKey(talk), "Run again");
    const keys = [cancelKey(talk), againKey(talk), goOnKey(talk)];
    show(this.error, keys.map((key) => store.failed.get(key)).find(Boolean));
  }

  #paintWork(talk) {
    const agent = talk.outcome === null ? store.agent(talk.state) : null;
    setHidden(this.working, talk.outcome !== null);
    if (talk.outcome !== null || this.shown === talk.state) return;
    this.shown = talk.state;
    const who = visible(talk.state, 60);
    this.working.replaceChildren(
      agent ? h("a", { href: link("agent", agent.id), text: who }) : who,
      agent ? " is working on it." : ": no answer yet.",
    );
  }

  async #goOn(event) {
    event.preventDefault();
    const text = this.more.value.trim();
    if (!text || store.pending.has(goOnKey(this.talk))) return;
    if (await goOnFrom(this.talk, text)) this.more.value = "";
  }
}

const button = (text, click) => pushButton(text, click, { data: { acts: "" } });

/** A button while its request is under way. */
function press(element, key, text) {
  const pending = store.pending.get(key)?.label;
  setText(element, pending ? `${pending} …` : text);
  setAttribute(element, "aria-disabled", pending ? "true" : null);
}

export const TITLE_CHARS = 120; // of a request in the heading of its page

customElements.define("talk-answer", TalkAnswer);
