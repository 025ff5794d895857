// The only place that inserts HTML, and only HTML rendered by the server (POST /api/markdown). The page's Trusted
// Types policy refuses every other string.

import { at } from "./address.js";

const build = document.querySelector("meta[name=build]").content;

const SERVICE_WORKER = at("/service-worker.js");

const policy = window.trustedTypes?.createPolicy("muster", {
  createHTML: (html) => html,
  createScriptURL: (url) => {
    if (url !== workerPath() && url !== SERVICE_WORKER)
      throw new TypeError(`not a script of the dashboard: ${url}`);
    return url;
  },
}) ?? { createHTML: (html) => html, createScriptURL: (url) => url };

/** Insert server-rendered HTML into an element. */
export function putRendered(element, html) {
  element.innerHTML = policy.createHTML(html);
}

/** The URL of the worker, as a TrustedScriptURL. */
export const workerURL = () => policy.createScriptURL(workerPath());

/** The URL of the service worker, as a TrustedScriptURL. */
export const serviceWorkerURL = () => policy.createScriptURL(SERVICE_WORKER);

function workerPath() {
  return at(`/web/${build}/stream-worker.js`);
}
