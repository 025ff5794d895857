// When a person looks at the team, and what has happened since the last time. The server keeps it: every browser of the
// person, and `muster since`, tell the same.

import { get, leave } from "./api.js";
import { serverNow } from "./clock.js";
import { store } from "./store.js";

const AWAY_MS = 5 * 60_000; // a shorter absence is not worth a word
const LOOKING_MS = 10 * 60_000; // how often a page that stays open says so: a browser may end without a word

let hiddenAt = null;
let told = 0;

let unread = null;

/** What happened since the last look, until the person has read it; or null. */
export const digest = () => unread;

/** Record looks from now on, and load what happened before. */
export function watchLooks() {
  if (store.reader) return;
  load();
  document.addEventListener("visibilitychange", () => (document.hidden ? away() : back()));
  addEventListener("pagehide", tell);
  setInterval(() => !document.hidden && tell(), LOOKING_MS);
}

/** The person has read the digest. */
export function read() {
  unread = null;
  store.touch("team");
  tell();
}

function away() {
  hiddenAt = Date.now();
  tell();
}

function back() {
  if (hiddenAt !== null && Date.now() - hiddenAt > AWAY_MS) load(told);
  hiddenAt = null;
}

/** Tell the server that everything up to now was seen. The event of this look counts as seen, too. */
function tell() {
  if (store.seq <= told + 1) return;
  told = store.seq;
  leave("/api/seen", { upto: told });
}

async function load(after = null) {
  const found = await get(after === null ? "/api/since" : `/api/since?after=${after}`).catch(() => null);
  if (!found?.since) return tell(); // the first look of all
  const isLong = serverNow() - Date.parse(found.since) > AWAY_MS;
  if (isLong && found.done + found.failed + found.asked + found.channels.length > 0) unread = found;
  store.touch("team");
}
