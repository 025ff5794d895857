// Base class of every view and element: its subscriptions end when it leaves the page.

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

  /** Build the content and subscribe. Called each time the element is attached to the page. */
  start() {}

  /** Call `paint` now, and after every change of one of these topics. */
  watch(topics, paint) {
    for (const topic of [topics].flat()) this.#ends.push(store.watch(topic, paint));
    paint();
  }

  /** Call `paint` once a second: for ages and countdowns. */
  tick(paint) {
    this.#ends.push(everySecond(paint));
  }

  /** Receive every batch of events while attached. */
  listen(hear) {
    this.#ends.push(store.listen(hear));
  }

  /** Register a keyboard shortcut while attached. */
  key(key, say, run) {
    this.#ends.push(keys.add(key, say, run));
  }

  /** Register a shortcut of something that a viewer may not do. A key that is held acts once. */
  actKey(key, say, run) {
    if (!store.reader) this.key(key, say, (event) => event.repeat || run(event));
  }

  /** Register a cleanup callback, called when the element is detached. */
  until(end) {
    this.#ends.push(end);
  }
}
