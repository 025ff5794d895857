// Cache of the delegation session and its conversations, reloaded after each event about them. To show them, watch
// the topic `talks`.

import { get } from "./api.js";
import { store } from "./store.js";

const RELOAD_MS = 120;
const ABOUT = new Set(["delegation_started", "delegation_ended", "conversation_logged", "muster_started"]);

export const MODES = {
  orchestrator: "MAIN hands each request to the matching agent, which returns it to MAIN.",
  interactive: "Agents may hand a request to another agent, or back to MAIN.",
  response: "No MAIN: requests wait in a queue until the matching agent claims them.",
};

class Talks {
  #timer = null;
  #loading = null; // the load that is under way
  #next = null; // the load after it
  session = null; // null until loaded
  list = []; // oldest first

  /** Whether an event is about a conversation or the session. */
  about = (event) => event.conversation !== undefined || ABOUT.has(event.type);

  get(conversation) {
    return this.list.find((each) => each.conversation === conversation) ?? null;
  }

  /** Reload soon; a burst of events causes one request. */
  soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.load();
    }, RELOAD_MS);
  }

  /** Reload. A load that is under way may miss what the caller knows of, so another follows it. */
  load() {
    this.#next ??= this.#loading?.then(() => {
      this.#next = null;
      return this.load();
    });
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#next ?? this.#loading;
  }

  async #load() {
    try {
      const [session, { conversations }] = await Promise.all([
        get("/api/delegation"),
        get("/api/conversations?limit=100"),
      ]);
      Object.assign(this, { session, list: conversations });
      store.touch("talks");
    } catch (problem) {
      if (problem.status === 0) this.soon();
    }
  }
}

export const talks = new Talks();

/** Change the session or its conversations; pending until the events have reached the page. */
export async function act(key, label, call) {
  const done = await store.act(key, label, async () => {
    const answer = await call();
    const { seq } = await get("/api/health");
    return { answer, seq };
  });
  await talks.load();
  return done?.answer ?? null;
}

/** The state of a conversation, in words and as a colour. */
export function stateOf(talk) {
  if (talk.outcome === "answered") return { word: "answered", tone: "good" };
  if (talk.outcome === "ended") return { word: "cancelled", tone: "" };
  if (talk.outcome !== null)
    return { word: talk.outcome, tone: talk.denied || talk.outcome === "failed" ? "bad" : "" };
  return { word: talk.state === "QUEUE" ? "queued" : `${talk.state} is working`, tone: "going" };
}
