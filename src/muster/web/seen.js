// Messages that a person has seen: those on a page that is visible. The server keeps it for every browser.

import { idOf, post } from "./api.js";
import { store } from "./store.js";

const EVERY_MS = 4000;
let due = 0;
let waiting = null;

/** Tell the server that the messages of an agent or a channel up to `newest` were seen. */
export function see(whose, newest, seen) {
  if (store.reader || !store.mayActOn(whose) || document.hidden || newest <= seen) return;
  clearTimeout(waiting);
  const body = whose.channel ? { channel: whose.channel } : { agent: idOf(whose) };
  waiting = setTimeout(() => tell({ ...body, upto: newest }), Math.max(0, due - Date.now()));
}

async function tell(body) {
  due = Date.now() + EVERY_MS;
  await post("/api/seen", body).catch(() => {}); // the next page that shows them tells it
}
