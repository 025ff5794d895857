// Asking the server. The cookie says who asks; an error is a problem document, with a sentence for people.

export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the server answered ${status}`);
    this.status = status;
    this.code = problem.code ?? "";
  }
}

async function ask(method, path, body, headers = {}) {
  const options = { method, headers, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Problem(0, { code: "unreachable", detail: "muster does not answer. Is it running?" });
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
    return { detail: "the answer was not as it should be" };
  }
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const put = (path, body) => ask("PUT", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

/** Say something once, however often it is sent. */
export const say = (path, body, key) => ask("POST", path, body, { "idempotency-key": key });

/** A path with names in it: path`/api/agents/${name}/run`. */
export function path(parts, ...names) {
  return parts.reduce((whole, part, index) => whole + encodeURIComponent(names[index - 1]) + part);
}

/** A key that nobody has used: also where the browser has no crypto.randomUUID (plain HTTP in a LAN). */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
