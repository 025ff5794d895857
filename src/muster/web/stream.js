// The event stream of a page. All tabs share one connection: in a SharedWorker; without SharedWorker, in the tab that
// holds a lock and broadcasts to the others; without locks, each tab opens its own.

import { Connection } from "./connection.js";
import { workerURL } from "./trusted.js";

const build = document.querySelector("meta[name=build]").content;
const types = document.querySelector("meta[name=events]").content.split(" ");

/** Follow the log after a seq. `hear` is called with {events}, {status}, {partial}, {looking} or {reset}; after a reset
 *  the caller must reload everything. */
export function follow(after, hear) {
  const way = new URLSearchParams(location.search).get("stream");
  if (window.SharedWorker && way === null) byWorker(after, hear);
  else if (navigator.locks && window.BroadcastChannel && way !== "direct") byLeader(after, hear);
  else new Connection(hear).open(after, types);
}

function byWorker(after, hear) {
  // The build is in the name: a worker of an older build survives an upgrade while any tab is open.
  const worker = new SharedWorker(workerURL(), { type: "module", name: `muster ${build}` });
  worker.port.onmessage = ({ data }) => hear(data);
  addEventListener("pagehide", ({ persisted }) => persisted || worker.port.postMessage({ bye: true }));
  worker.port.postMessage({ after, types });
}

function byLeader(after, hear) {
  const channel = new BroadcastChannel(`muster ${build}`);
  let connection = null;
  let place = after;
  const listen = (told) => {
    if (told.events) place = Math.max(place, told.events.at(-1).seq);
    hear(told);
  };
  channel.onmessage = ({ data }) => {
    if (!data.join) listen(data);
    else if (connection) channel.postMessage(caughtUp(connection, data.join));
  };
  channel.postMessage({ join: after });
  navigator.locks.request(`muster ${build}`, () => {
    connection = new Connection((told) => {
      channel.postMessage(told);
      listen(told);
    });
    connection.open(place, types);
    return new Promise(() => {}); // until this tab is closed
  });
}

function caughtUp(connection, after) {
  const missed = connection.since(after);
  const { looking } = connection;
  if (missed === null) return { reset: connection.last, looking };
  return missed.length ? { events: missed, looking } : { status: connection.status, looking };
}
