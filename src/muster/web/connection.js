// An EventSource that reconnects for ever, with a ring buffer of recent events for tabs that join later.
//
// Runs in the SharedWorker, or in the page where the browser has none, so it must not use the DOM.

import { at } from "./address.js";

const RING = 2000;
const RETRY_MS = 1000;
const SILENT_MS = 20_000; // the server gives a sign every 15 s

export class Connection {
  #tell;
  #source = null;
  #retry = null;
  #silence = null;
  #ring = [];
  #gathered = [];
  #flush = null;
  #types = [];
  last = null; // the newest seq received
  looking = []; // the people who have the page open
  partials = new Map(); // by channel: the text that the turn holder has written so far
  status = { state: "connecting", since: Date.now() };

  /** `tell` is called with {events}, {status}, {partial}, {looking} or {reset}. */
  constructor(tell) {
    this.#tell = tell;
  }

  /** Follow the log after a seq; idempotent. An EventSource delivers only event names that have a listener, and
   *  every event type is a name of its own, so `types` lists all of them. */
  open(after, types) {
    this.#types = types;
    if (this.#source || this.#retry) return;
    this.last ??= after;
    this.#connect();
  }

  /** Events after a seq, or null if the ring buffer no longer holds them all. */
  since(after) {
    if (this.last === null || after > this.last) return null;
    if (after === this.last) return [];
    const first = this.#ring[0];
    return first && first.seq <= after + 1 ? this.#ring.filter((event) => event.seq > after) : null;
  }

  close() {
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = this.#retry = null;
  }

  #connect() {
    this.#retry = null;
    const source = new EventSource(at(`/api/events?after=${this.last}`));
    this.#source = source;
    this.#listen(source);
    source.onopen = () => this.#opened();
    source.onerror = () => this.#lost(source);
    source.addEventListener("cursor_unknown", (message) => this.#forget(JSON.parse(message.data)));
    source.addEventListener("looking", (message) => this.#see(JSON.parse(message.data)));
    source.addEventListener("partial", (message) => this.#written(JSON.parse(message.data)));
    for (const type of this.#types) source.addEventListener(type, (message) => this.#heard(message));
    for (const type of ["open", "alive", "looking", "partial", ...this.#types])
      source.addEventListener(type, () => this.#listen(source));
  }

  /** Notice a server that is frozen, or a network that is gone: the browser tells of neither. */
  #listen(source) {
    const at = Date.now();
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      if (this.#source !== source) return;
      this.#become("silent", at);
      source.close();
      this.#connect();
    }, SILENT_MS);
  }

  #heard(message) {
    const event = JSON.parse(message.data);
    if (event.seq <= this.last) return;
    this.last = event.seq;
    this.#ring.push(event);
    if (this.#ring.length > RING * 1.5) this.#ring.splice(0, this.#ring.length - RING);
    this.#gathered.push(event);
    this.#flush ??= setTimeout(() => {
      this.#flush = null;
      this.#tell({ events: this.#gathered.splice(0) });
    }, 0);
  }

  #see({ people }) {
    this.looking = people;
    this.#tell({ looking: people });
  }

  /** Partial text is not in the log, and the end of one may have been missed while disconnected. */
  #opened() {
    for (const channel of [...this.partials.keys()]) this.#written({ channel, text: "" });
    this.#become("live");
  }

  /** An empty text means that the turn has ended, or that the message is posted. */
  #written(partial) {
    if (partial.text) this.partials.set(partial.channel, partial);
    else this.partials.delete(partial.channel);
    this.#tell({ partial });
  }

  /** The server does not know our cursor: the log was replaced. Drop what is buffered and start at its end. */
  #forget({ lastSeq }) {
    this.#ring.length = 0;
    this.#gathered.length = 0;
    this.last = lastSeq;
    this.#tell({ reset: lastSeq });
  }

  #lost(source) {
    this.#become("reconnecting");
    if (source.readyState !== 2) return; // the browser reconnects by itself, with Last-Event-ID
    source.close();
    this.#source = null;
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS);
  }

  #become(state, since = Date.now()) {
    if (this.status.state === state) return;
    this.status = { state, since };
    this.#tell({ status: this.status });
  }
}
