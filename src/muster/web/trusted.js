// The one door for HTML. Only what the server has rendered (POST /api/markdown) may go through it; the policy
// of the page refuses every other string.

const build = document.querySelector("meta[name=build]").content;

const policy = window.trustedTypes?.createPolicy("muster", {
  createHTML: (html) => html,
  createScriptURL: (url) => {
    if (url !== workerPath()) throw new TypeError(`no script of ours: ${url}`);
    return url;
  },
}) ?? { createHTML: (html) => html, createScriptURL: (url) => url };

/** Put HTML that the server made from somebody's markdown into an element. */
export function putRendered(element, html) {
  element.innerHTML = policy.createHTML(html);
}

/** The address of the worker, as the browser wants it. */
export const workerURL = () => policy.createScriptURL(workerPath());

function workerPath() {
  return `/web/${build}/stream-worker.js`;
}
