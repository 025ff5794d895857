// Conversations as this page knows them: the session, and what came of every request. They are asked for again when
// an event is about them; whoever shows them watches the topic `talks`.

import { get } from "./api.js";
import { store } from "./store.js";

const RELOAD_MS = 120;
const ABOUT = new Set(["delegation_started", "delegation_ended", "conversation_logged", "muster_started"]);

export const MODES = {
  orchestrator: "MAIN hands a request to the agent that matches, and the agent hands it back.",
  interactive: "Agents may hand a request on to each other, or back to MAIN.",
  response: "There is no MAIN: requests wait in a queue, and agents claim what is theirs.",
};

class Talks {
  #timer = null;
  #asking = false;
  session = null; // null until the server has told
  list = []; // the oldest first

  /** Whether an event is about a conversation or the session. */
  about = (event) => event.conversation !== undefined || ABOUT.has(event.type);

  get(conversation) {
    return this.list.find((each) => each.conversation === conversation) ?? null;
  }

  /** Ask again soon; many events at once are one question. */
  soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.load();
    }, RELOAD_MS);
  }

  async load() {
    if (this.#asking) return this.soon();
    this.#asking = true;
    try {
      const [session, { conversations }] = await Promise.all([
        get("/api/delegation"),
        get("/api/conversations?limit=100"),
      ]);
      Object.assign(this, { session, list: conversations });
      store.touch("talks");
    } catch (problem) {
      if (problem.status === 0) this.soon();
    } finally {
      this.#asking = false;
    }
  }
}

export const talks = new Talks();

/** Do something to the session or its conversations; it is pending until this page has heard of it. */
export async function act(key, label, call) {
  const done = await store.act(key, label, async () => {
    const answer = await call();
    const { seq } = await get("/api/health");
    return { answer, seq };
  });
  await talks.load();
  return done?.answer ?? null;
}

/** What a conversation is at: in words, and how it is to be coloured. */
export function stateOf(talk) {
  if (talk.outcome === "answered") return { word: "answered", tone: "good" };
  if (talk.outcome !== null)
    return { word: talk.outcome, tone: talk.denied || talk.outcome === "failed" ? "bad" : "" };
  return { word: talk.state === "QUEUE" ? "waits in the queue" : `${talk.state} works`, tone: "going" };
}
