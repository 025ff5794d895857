// Tasks: a form to ask, the board of all tasks, and for each its answer, work, route, trace, dialogue and files. The log
// and the API call a task a conversation.

import "../elements/ask-box.js";
import "../elements/session-panel.js";
import "../elements/talk-answer.js";
import "../elements/talk-choice.js";
import "../elements/talk-dialogue.js";
import "../elements/talk-files.js";
import "../elements/talk-trace.js";
import "../elements/work-changes.js";
import "../elements/talk-work.js";
import "../elements/task-board.js";
import { path } from "../api.js";
import { secondsSince, span } from "../clock.js";
import { costs, spentInFull } from "../costs.js";
import { h, keyed, setAttribute, setHidden, setText } from "../dom.js";
import { TITLE_CHARS } from "../elements/talk-answer.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { stateOf, talks } from "../talks.js";
import { visible } from "../visible.js";

class ConversationView extends Part {
  start() {
    [this.asked] = this.params;
    this.classList.toggle("all", !this.asked);
    this.list = h("ul", { class: "talks" });
    this.none = h("p", { class: "muted", text: "None yet." });
    this.heading = h("h1");
    this.state = h("span", { class: "badge" });
    this.age = h("span", { class: "age" });
    this.number = h("span", { class: "muted" });
    this.head = h("header", { class: "head" }, this.heading, this.state, this.age, this.number);
    this.missing = h("section", { class: "empty", hidden: true });
    this.whole = h("div", { class: "whole", hidden: true }, this.head);
    const session = document.createElement("session-panel");
    const ask = document.createElement("ask-box");
    if (!this.asked)
      this.replaceChildren(
        h("div", { class: "room" }, ask, this.missing),
        h("div", { class: "aside" }, session),
        document.createElement("task-board"),
      );
    else this.replaceChildren(this.#aside(ask), h("div", { class: "room" }, this.missing, this.whole));
    this.listen((events) => events.some(talks.about) && talks.soon());
    this.watch("status", () => talks.soon());
    this.watch(["talks", "costs"], () => this.#paint());
    this.tick(() => this.#paintAge());
    this.key("[", "Previous task", () => this.#step(-1));
    this.key("]", "Next task", () => this.#step(1));
    this.isLoaded = false; // a new task may not be in the list yet
    talks.load().then(() => {
      this.isLoaded = true;
      this.#paint();
    });
  }

  /** Beside one task: all the others, and the form for the next. */
  #aside(ask) {
    return h(
      "div",
      { class: "aside" },
      ask,
      h(
        "section",
        { class: "panel", "aria-label": "Tasks" },
        h("h2", { text: "Tasks" }),
        h("a", { class: "all", href: link("conversation"), text: "← All tasks" }),
        this.none,
        this.list,
      ),
    );
  }

  /** The task named in the URL. */
  get talk() {
    return this.asked ? talks.get(this.asked) : null;
  }

  #paint() {
    if (talks.session === null) return;
    const shown = this.talk;
    keyed(
      this.list,
      [...talks.list].reverse(),
      (each) => each.conversation,
      () => item(),
      (row, each) => {
        setAttribute(row.firstChild, "href", link("conversation", each.conversation));
        setAttribute(
          row.firstChild,
          "aria-current",
          each.conversation === shown?.conversation ? "page" : null,
        );
        setText(row.text, visible(each.text, TITLE_CHARS));
        setText(row.state, visible(stateOf(each).word, 40));
        row.state.dataset.tone = stateOf(each).tone;
        setText(row.name, number(each.conversation));
      },
    );
    setHidden(this.none, talks.list.length > 0);
    const isMissing = this.asked ? !shown && this.isLoaded : talks.list.length === 0;
    setHidden(this.missing, !isMissing);
    setHidden(this.whole, shown === null);
    if (shown) this.#show(shown);
    if (isMissing) this.#paintMissing();
  }

  #show(talk) {
    setText(this.heading, visible(talk.text, TITLE_CHARS));
    setText(this.number, `task ${number(talk.conversation)}`);
    setText(this.state, visible(stateOf(talk).word, 60));
    this.state.dataset.tone = stateOf(talk).tone;
    this.#paintAge();
    if (this.shown === talk.conversation) return;
    this.shown = talk.conversation;
    const part = (tag) => Object.assign(document.createElement(tag), { conversation: talk.conversation });
    const parts = [
      "talk-answer",
      "talk-work",
      "talk-files",
      "talk-trace",
      "talk-choice",
      "talk-dialogue",
    ].map(part);
    parts.splice(1, 0, changesOf(talk));
    this.whole.replaceChildren(this.head, ...parts);
  }

  #paintAge() {
    const talk = this.talk;
    if (!talk) return;
    const used = spentInFull(costs.conversation(talk.conversation));
    const lasted = talk.endedAt
      ? `took ${span((Date.parse(talk.endedAt) - Date.parse(talk.startedAt)) / 1000)}, ${span(secondsSince(talk.endedAt))} ago`
      : `for ${span(secondsSince(talk.startedAt))}`;
    setText(this.age, used ? `${lasted}, used ${used}` : lasted);
  }

  #paintMissing() {
    const text = this.asked ? `There is no task ${visible(this.asked, 60)}` : "No tasks yet";
    if (this.missing.dataset.text === text) return;
    this.missing.dataset.text = text;
    this.missing.replaceChildren(
      h("h1", { text }),
      h("p", {
        text: "Every request is a task. muster picks the agent whose description matches, shows why, hands over the work, and shows the result.",
      }),
      h(
        "p",
        {},
        "Agents are files with a name and a description, in ",
        h("code", { text: ".claude/agents/" }),
        " of the project or in the folder that the session was opened with. From a shell: ",
        h("code", { text: 'muster ask "Write a hello world script"' }),
        ".",
      ),
    );
  }

  #step(by) {
    const at = this.talk ? talks.list.indexOf(this.talk) : talks.list.length;
    const next = talks.list[at + by];
    if (at < 0 || !next) return false;
    go("conversation", next.conversation);
  }
}

/** The changes of a task, if it has a worktree of its own. */
const changesOf = ({ conversation }) =>
  Object.assign(document.createElement("work-changes"), {
    owner: path`/api/conversations/${conversation}`,
    className: "panel",
    heading: "Changes",
    optional: true,
    hidden: true,
  });

const number = (conversation) => conversation.replace(/^conv_/, "");

function item() {
  const row = h("li", {}, h("a"));
  row.text = h("strong", { class: "text" });
  row.name = h("span", { class: "muted" });
  row.state = h("span", { class: "tone" });
  row.firstChild.append(row.text, row.name, row.state);
  return row;
}

customElements.define("conversation-view", ConversationView);
