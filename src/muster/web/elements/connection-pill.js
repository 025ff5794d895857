// The state of the event stream: live, or the time since when the page is out of date.

import { timeOfDay } from "../clock.js";
import { h, setText } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";

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
  "signed out": () => "signed out: `muster open` prints a link to sign in",
};

customElements.define("connection-pill", ConnectionPill);
