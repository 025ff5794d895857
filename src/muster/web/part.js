// What every element and view of the dashboard is: it watches the store while it is on the page.

import { everySecond } from "./clock.js";
import * as keys from "./keys.js";
import { store } from "./store.js";

export class Part extends HTMLElement {
  #ends = [];

  connectedCallback() {
    this.start();
  }

  disconnectedCallback() {
    for (const end of this.#ends.splice(0)) end();
  }

  /** Build yourself and say what you watch. Called whenever the element comes onto the page. */
  start() {}

  /** Call `paint` now, and whenever one of these topics has changed. */
  watch(topics, paint) {
    for (const topic of [topics].flat()) this.#ends.push(store.watch(topic, paint));
    paint();
  }

  /** Call `paint` once a second: for ages and countdowns. */
  tick(paint) {
    this.#ends.push(everySecond(paint));
  }

  /** Be given every batch of events while on the page. */
  listen(hear) {
    this.#ends.push(store.listen(hear));
  }

  /** A key that works while this is on the page. */
  key(key, say, run) {
    this.#ends.push(keys.add(key, say, run));
  }

  /** Something else that ends when this leaves the page. */
  until(end) {
    this.#ends.push(end);
  }
}
