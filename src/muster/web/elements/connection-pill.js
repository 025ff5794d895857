// The state of the event stream: live, or the time since when the page is out of date; and who else has the page open.

import { timeOfDay } from "../clock.js";
import { h, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { visible } from "../visible.js";

class ConnectionPill extends Part {
  start() {
    this.setAttribute("role", "status");
    const words = h("span");
    this.replaceChildren(h("span", { class: "dot", "aria-hidden": "true" }), words);
    this.watch("status", () => {
      const { state, since } = store.status;
      this.dataset.state = state;
      document.documentElement.dataset.connection = state;
      setText(words, WORDS[state](timeOfDay(since)));
    });
  }
}

const WORDS = {
  connecting: () => "connecting",
  live: () => "live",
  reconnecting: (at) => `disconnected since ${at}, reconnecting`,
  silent: (at) => `no answer since ${at}, reconnecting`,
  "signed out": () => "signed out: `muster open` prints a link to sign in",
};

class PeopleLooking extends Part {
  start() {
    this.watch("looking", () => this.#paint());
    this.watch("team", () => this.#paint());
  }

  #paint() {
    const others = store.looking.filter((name) => name !== store.user).map((name) => visible(name, 40));
    setHidden(this, others.length === 0);
    setText(this, `with ${others.join(", ")}`);
    this.title = `${others.join(", ")} ${others.length === 1 ? "has" : "have"} the page open, too`;
  }
}

customElements.define("connection-pill", ConnectionPill);
customElements.define("people-looking", PeopleLooking);
