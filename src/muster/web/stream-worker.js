// One event stream for all tabs of a browser. Browsers allow six HTTP/1.1 connections to a host; a seventh would wait
// for ever.

import { Connection } from "./connection.js";

const tabs = new Set();
const connection = new Connection((told) => {
  for (const tab of tabs) tab.postMessage(told);
});

addEventListener("connect", ({ ports: [tab] }) => {
  tab.onmessage = ({ data }) => (data.bye ? leave(tab) : join(tab, data));
});

function join(tab, { after, types }) {
  connection.open(after, types);
  const missed = connection.since(after);
  tabs.add(tab);
  tab.postMessage({ status: connection.status });
  if (missed === null) tab.postMessage({ reset: connection.last });
  else if (missed.length) tab.postMessage({ events: missed });
  tab.postMessage({ looking: connection.looking });
  for (const partial of connection.partials.values()) tab.postMessage({ partial });
}

function leave(tab) {
  tabs.delete(tab);
  tab.close();
}
