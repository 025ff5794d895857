// HTTP requests to the server, authenticated by the session cookie. An error is a problem document whose
// `detail` is shown to the user.

import { at } from "./address.js";

export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `Unexpected response (status ${status}).`);
    this.status = status;
    this.code = problem.code ?? "";
    this.found = problem.found ?? {};
  }
}

async function ask(method, path, body, headers = {}) {
  const options = { method, headers, credentials: "same-origin", cache: "no-store" };
  if (body instanceof Blob) {
    options.body = body;
    headers["content-type"] = body.type || "application/octet-stream";
  } else if (body !== undefined) {
    options.body = JSON.stringify(body);
    headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(at(path), options);
  } catch {
    throw new Problem(0, { code: "unreachable", detail: "muster is not reachable. Is it running?" });
  }
  const text = await answer.text();
  const content = text ? parsed(text) : {};
  if (!answer.ok) throw new Problem(answer.status, content);
  return content;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: "Invalid response: not JSON." };
  }
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const put = (path, body) => ask("PUT", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

/** Post without waiting for an answer; the browser sends it also while the page is being closed. */
export function leave(path, body) {
  const headers = { "content-type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(body), keepalive: true };
  fetch(at(path), { ...options, credentials: "same-origin" }).catch(() => {});
}

/** Post with an idempotency key: a retry has no further effect. */
export const say = (path, body, key) => ask("POST", path, body, { "idempotency-key": key });

/** Send the content of a file. */
export const upload = (path, file) => ask("POST", path, file);

/** An agent in a request: by its seat, which it keeps when it is renamed. Its name may be another agent's by then. */
export const idOf = ({ seat }) => `agent-identity:${seat}`;

/** An agent as the receiver of a message, which nobody else gets who takes its seat in an import. */
export const meant = ({ seat, document }) => ({
  targetAgent: idOf({ seat }),
  targetCreatedAt: document?.createdAt,
});

/** A path with names in it: path`/api/agents/${name}/run`. */
export function path(parts, ...names) {
  return parts.reduce((whole, part, index) => whole + encodeURIComponent(names[index - 1]) + part);
}

/** A new idempotency key. crypto.randomUUID is missing on plain HTTP outside of localhost. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
