// The records of an agent: soul, wake payload, transcripts by session, and the explanation of its state.

import { get, idOf, path, post } from "../api.js";
import { timeOfDay } from "../clock.js";
import { spentInFull } from "../costs.js";
import { errorLine, h, pushButton, show } from "../dom.js";

const PAGES = 5;

/** An element that is filled when the response arrives. */
function later(fill) {
  const element = h("div", { class: "record" }, h("p", { class: "muted", text: "Loading …" }));
  fill(element).catch((problem) =>
    element.replaceChildren(h("p", { class: "muted", text: problem.message })),
  );
  return element;
}

export const soul = (agent) =>
  later(async (element) => {
    const { document } = await get(path`/api/agents/${idOf(agent)}`);
    if (!document.individuationArtifact) {
      return element.replaceChildren(
        h("p", {
          class: "muted",
          text: "No soul: this agent was registered by name, or has no name yet. Agents created by SUMMON write one.",
        }),
      );
    }
    const { versions } = await get(path`/api/agents/${idOf(agent)}/soul`);
    element.replaceChildren(
      h("pre", { class: "soul", text: document.individuationArtifact }), // as it was written, line by line
      ...(versions.length > 1 ? versions.map((version) => soulVersion(agent, element, version)) : []),
    );
  });

/** A version of a soul: when, by whom, why, the lines that changed, and the button that chooses it. */
function soulVersion(agent, element, version) {
  const error = errorLine();
  const choose = async () => {
    try {
      await post(path`/api/agents/${idOf(agent)}/soul/choose`, { version: version.number });
      element.replaceWith(soul(agent));
    } catch (problem) {
      show(error, problem.message);
    }
  };
  const mark = version.isCurrent ? "current" : version.lost ? "lost the merge" : "";
  const told = [mark, new Date(version.at).toLocaleString(), version.by, version.reason];
  const details = h(
    "details",
    { class: "soul-version" },
    h("summary", { text: `Version ${version.number}: ${told.filter(Boolean).join(", ")}` }),
    h("pre", { text: version.difference || version.soul }),
    version.isCurrent ? "" : pushButton("Use this version", choose, { data: { acts: "operator" } }),
    error,
  );
  details.open = Boolean(version.lost);
  return details;
}

export const wakePayload = (agent) =>
  later(async (element) => {
    const { text, payload } = await get(path`/api/agents/${idOf(agent)}/wake-payload`);
    const parts = [
      payload.hasSoul ? "its soul" : "no soul",
      payload.earlier?.length && `a digest of ${payload.earlier.length} earlier`,
      payload.hasTranscript ? "the transcript of its last session" : "no transcript",
    ]
      .filter(Boolean)
      .join(", ");
    element.replaceChildren(
      h("p", { class: "muted", text: `The prompt of the agent if it is woken now (${parts}):` }),
      h("pre", { text }),
    );
  });

export const why = (agent) =>
  later(async (element) => {
    const { accounts } = await get(path`/api/agents/${idOf(agent)}/why`);
    element.replaceChildren(
      ...accounts.map(({ title, steps }) =>
        h(
          "section",
          {},
          h("h3", { text: title }),
          h(
            "ol",
            { class: "steps" },
            steps.map((step, depth) =>
              h(
                "li",
                {},
                h(
                  "span",
                  { class: "age" },
                  `${step.seq} · `,
                  h("time", { datetime: step.ts, text: new Date(step.ts).toLocaleTimeString() }),
                  " ",
                ),
                depth ? "because " : "",
                step.text,
              ),
            ),
          ),
        ),
      ),
    );
    if (!accounts.length)
      element.replaceChildren(h("p", { class: "muted", text: "No events about this agent yet." }));
  });

/** Conversations with the agent's program, each with a button that resumes it in the next session. */
export const conversations = (agent) =>
  later(async (element) => {
    const place = path`/api/agents/${idOf(agent)}/past-conversations`;
    const found = await get(place);
    const error = errorLine();
    const resume = (id) =>
      post(`${place}/${encodeURIComponent(id)}/resume`).then(
        () => show(error, "Its next session resumes this conversation."),
        ({ message }) => show(error, message),
      );
    element.replaceChildren(
      error,
      ...found.conversations.map((each) =>
        h(
          "section",
          {},
          h("p", { text: each.firstWords || each.id }),
          h(
            "p",
            { class: "muted" },
            [new Date(each.ended ?? each.began).toLocaleString(), spentInFull(each)]
              .filter(Boolean)
              .join(" · "),
            " ",
            pushButton("Resume", () => resume(each.id), { data: { acts: "operator" } }),
          ),
        ),
      ),
    );
    if (!found.conversations.length)
      element.append(h("p", { class: "muted", text: "No conversation that can be resumed yet." }));
  });

// ── transcripts ────────────────────────────────────────────────────────────────────────────────

export const transcript = (agent) =>
  later(async (element) => {
    const [page, lives] = await Promise.all([newestMessages(agent), sessionsOf(agent)]);
    paintTranscript(element, agent, lives, page);
  });

/** The messages by session, and the button that loads older ones, where there are any. */
function paintTranscript(element, agent, lives, { messages, earlier }) {
  const groups = grouped(messages, lives);
  if (!groups.length)
    return element.replaceChildren(h("p", { class: "muted", text: "No messages in any session yet." }));
  const open = new Set([...element.querySelectorAll("details[open]")].map(({ dataset }) => dataset.place));
  element.replaceChildren(
    ...groups.map(({ title, place, said }, index) => {
      const cut = earlier && index === groups.length - 1 ? ", older ones not loaded" : "";
      const details = h(
        "details",
        { data: { place } },
        h("summary", { text: `${title} (${said.length}${cut})` }),
        h(
          "ul",
          { class: "said" },
          said.map((message) => h("li", {}, h("strong", { text: label(message) }), `: ${message.text}`)),
        ),
      );
      details.open = open.size ? open.has(String(place)) : index === 0;
      return details;
    }),
  );
  if (!earlier) return;
  const older = async () => {
    const before = await newestMessages(agent, messages[0].seq);
    const all = { messages: [...before.messages, ...messages], earlier: before.earlier };
    paintTranscript(element, agent, lives, all);
  };
  element.append(h("button", { type: "button", text: "Older messages", on: { click: older } }));
}

/** A speaker, and its channel with a character that no name has. */
const label = ({ speakerName, channel }) => `[${speakerName}${channel ? ` #${channel}` : ""}]`;

/** Some pages of the newest messages before a place in the log, in order; `earlier` says that there are more. */
async function newestMessages(agent, before = null) {
  let found = [];
  let earlier = true;
  for (let page = 0; earlier && page < PAGES; page += 1) {
    const first = found[0]?.seq ?? before;
    const upto = first === null ? "" : `&before=${first}`;
    const answer = await get(`${path`/api/agents/${idOf(agent)}/messages`}?limit=256${upto}`);
    found = [...answer.messages, ...found];
    earlier = Boolean(answer.earlier);
  }
  return { messages: found, earlier };
}

/** The agent's sessions: first and last seq, start, end and outcome. */
async function sessionsOf(agent) {
  const { events } = await get(
    `/api/log?types=session_start,session_end&limit=1000&agent=${encodeURIComponent(idOf(agent))}`,
  );
  const lives = [];
  for (const event of events) {
    if (event.type === "session_start")
      lives.push({ from: event.seq, began: event.ts, to: Infinity, ended: null });
    else if (lives.length)
      Object.assign(lives.at(-1), { to: event.seq, ended: event.ts, outcome: event.outcome });
  }
  return lives;
}

/** Messages by session, newest first. An agent that muster does not run has no sessions: group by server start. */
function grouped(messages, lives) {
  const groups = new Map();
  for (const message of messages) {
    const at = lives.findLastIndex((life) => life.from <= message.seq);
    const key =
      at >= 0
        ? `Session ${at + 1}, ${when(lives[at])}`
        : lives.length
          ? "Before the first session"
          : `While muster ran, from ${timeOfDay(message.createdAt)}`;
    const place = at >= 0 ? at : lives.length ? -1 : message.serverSessionId;
    if (!groups.has(place)) groups.set(place, { title: key, place, said: [] });
    groups.get(place).said.push(message);
  }
  return [...groups.values()].reverse();
}

const when = ({ began, ended, outcome }) =>
  `${timeOfDay(began)} to ${ended ? `${timeOfDay(ended)}, ${outcome}` : "now"}`;
