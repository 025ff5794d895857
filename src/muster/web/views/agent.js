// The view of one agent: identity, run control, chat, output, records and explanations.

import { showMove } from "../elements/node-line.js";
import "../elements/agent-notes.js";
import "../elements/agent-plan.js";
import "../elements/agent-work.js";
import "../elements/approval-list.js";
import "../elements/decision-list.js";
import "../elements/chat-thread.js";
import "../elements/failure-panel.js";
import "../elements/live-output.js";
import "../elements/program-choice.js";
import "../elements/run-controls.js";
import "../elements/run-panel.js";
import "../elements/tab-set.js";
import "../elements/work-changes.js";
import { at } from "../address.js";
import { get, idOf, path } from "../api.js";
import { needsOf, reason } from "../attention.js";
import { look, meaning, paintBadge } from "../badge.js";
import { evidenceText, moment } from "../clock.js";
import { dollars, spentInFull } from "../costs.js";
import { h, pushButton, setAttribute, setHidden, setText } from "../dom.js";
import { draftKey, draftOf, draftsOf } from "../drafts.js";
import { showAgentSettings } from "../elements/agent-dialog.js";
import { face } from "../elements/agent-face.js";
import { conversations, soul, transcript, wakePayload, why } from "../elements/agent-records.js";
import { copyLine } from "../elements/copy-line.js";
import { Part } from "../part.js";
import { go, link, renamed, seatHere } from "../router.js";
import { movable } from "../run.js";
import { store } from "../store.js";
import { talks } from "../talks.js";
import { visible } from "../visible.js";
import { commandLine } from "../words.js";

const SOUL_EVENTS = new Set(["soul_edited", "documents_imported"]); // after which a soul may be another one

class AgentView extends Part {
  start() {
    this.agent = store.agentOf(this.params[0] ?? "", this.seat ?? seatHere());
    if (!this.agent) return this.#startMissing();
    const { agent } = this;
    this.seat = agent.seat;
    this.looks = this.told = this.called = null; // nothing is painted yet
    this.portrait = h("div", { class: "portrait" });
    this.title_ = h("h1");
    this.badge = h("span", { class: "badge run" });
    this.meaning = h("span", { class: "meaning" });
    this.facts = h("p", { class: "facts" });
    this.wake = h("p", { class: "wake", hidden: true });
    this.places = h("p", { class: "places" });
    this.need = h("p", { class: "need", hidden: true });
    this.move = pushButton("Move to …", () => showMove(this.agent), { class: "settings" });
    this.connect = h("section", { class: "panel connect", hidden: true, "aria-label": "How it connects" });
    this.replaceChildren(
      this.unsent ? unsentText(this.unsent, agent) : "",
      h(
        "header",
        { class: "who" },
        this.portrait,
        h(
          "div",
          {},
          this.title_,
          h("p", { class: "now" }, this.badge, " ", this.meaning),
          this.facts,
          store.operates && part("program-choice", agent),
          this.wake,
          this.places,
        ),
        this.move,
        pushButton("Settings", () => showAgentSettings(this.agent), {
          class: "settings",
          data: { acts: "operator" },
        }),
        this.need,
      ),
      h("div", { class: "standing" }, part("run-controls", agent), part("failure-panel", agent)),
      this.connect,
      part("approval-list", agent, "panel"),
      part("decision-list", agent, "panel"),
      h(
        "div",
        { class: "columns" },
        part("chat-thread", agent, "panel"),
        h(
          "div",
          { class: "side" },
          part("agent-plan", agent, "panel"),
          this.#records(agent),
          part("run-panel", agent, "panel"),
        ),
      ),
    );
    this.watch([`agent:${agent.seat}`, "channels", "talks"], () => this.#paint());
    this.listen((events) => {
      if (events.some(({ type }) => type.startsWith("workspace_"))) this.#findPlace();
      if (events.some(({ type }) => SOUL_EVENTS.has(type))) this.tabs.refresh("Soul");
    });
    this.#findPlace();
    this.tick(() => this.#paint());
    this.actKey("s", "Press the main button of the agent", () => this.querySelector("run-controls").press());
    this.actKey("m", "Write a message to the agent", () => this.querySelector("textarea").focus());
    this.key("]", "Next agent", () => this.#step(1));
    this.key("[", "Previous agent", () => this.#step(-1));
    if (this.params[1] === "write") this.querySelector("textarea").focus();
  }

  /** The folder and the branch that it works in. */
  async #findPlace() {
    this.place = await get(path`/api/agents/${idOf(this)}/place`).catch(() => null);
    if (this.isConnected) this.#paint();
  }

  /** The agent may be registered while the page is open. */
  #startMissing() {
    this.replaceChildren(
      h(
        "section",
        { class: "empty" },
        h("h1", { text: `No agent is called ${this.params[0] ?? ""}` }),
        h("p", {}, h("a", { href: link(""), text: "Back to the team" })),
      ),
    );
    this.watch("agents", () => store.agentOf(this.params[0] ?? "", this.seat) && this.#again());
  }

  #again() {
    this.disconnectedCallback();
    this.start();
  }

  #records(agent) {
    const tabs = document.createElement("tab-set");
    tabs.className = "panel";
    tabs.tabs = [
      { name: "Work", make: () => part("agent-work", agent) },
      { name: "Output", make: () => part("live-output", agent) },
      { name: "Changes", make: () => changesOf(agent) },
      { name: "Soul", make: () => soul(agent) },
      { name: "Notes", make: () => part("agent-notes", agent) },
      { name: "Wake payload", make: () => wakePayload(agent) },
      { name: "Transcript", make: () => transcript(agent) },
      ...(!store.operates ? [] : [{ name: "Resume", make: () => conversations(agent) }]),
      { name: "Why", make: () => why(agent) },
    ];
    tabs.wanted = this.params[1] ?? "";
    tabs.first = OUTPUT;
    tabs.onchoose = (name) => {
      this.params = [this.agent.id, name];
      renamed(this.agent.seat, "agent", ...this.params);
    };
    this.tabs = tabs;
    return tabs;
  }

  /** An agent that calls tools is watched by its calls, unless a person has chosen what to see. */
  #preferWork() {
    if (this.preferred || this.tabs.isChosen || !store.note(this.agent.seat).calls) return;
    this.preferred = true;
    this.tabs.choose(WORK);
  }

  #paint() {
    if (!store.agents.has(this.agent.seat)) return this.#again(); // it has left the team
    const agent = store.agents.get(this.agent.seat);
    if (bornOf(agent) !== bornOf(this.agent)) return this.#succeed(agent);
    this.agent = agent;
    this.toggleAttribute("data-closed", !store.mayActOn(agent));
    this.#follow(agent);
    const looks = JSON.stringify([
      agent.status,
      agent.name,
      agent.document?.color,
      agent.document?.faceVariant,
    ]);
    if (this.looks !== looks) this.portrait.replaceChildren(face(agent));
    this.looks = looks;
    this.dataset.look = look(agent);
    setText(this.title_, agent.name ?? `Seat ${agent.seat}, unnamed`);
    paintBadge(this.badge, agent.badge);
    setText(this.meaning, meaning(agent.badge));
    setText(this.facts, factsOf(agent, this.place).join(" · "));
    setHidden(this.wake, !agent.lastWake);
    setText(this.wake, agent.lastWake ? `At its last wake: ${visible(agent.lastWake.line)}` : "");
    setAttribute(this.wake, "data-check", agent.lastWake?.check ?? null);
    setHidden(
      this.connect,
      agent.authority !== "self" || Boolean(agent.byHand) || agent.badge.color === "green",
    );
    setHidden(this.move, !movable(agent));
    this.#paintPlaces(agent);
    this.#preferWork();
    const [need] = needsOf(agent).filter(
      ({ kind }) => !BELOW.has(kind) && !(kind === "failed" && agent.lastFailure),
    );
    setHidden(this.need, !need);
    if (need) setText(this.need, `Needs you: ${visible(reason(need))}`);
    setAttribute(this.need, "data-kind", need?.kind ?? null);
  }

  /** An import has put another agent in the seat. Text that was typed for the one before is shown, and not sent. */
  #succeed(agent) {
    const before = this.agent;
    const texts = draftsOf(draftKey("", before))
      .map(draftOf)
      .filter((text) => text.trim());
    if (texts.length) this.unsent = { name: before.id, texts };
    this.params = [agent.id, ...this.params.slice(1)];
    this.#again();
  }

  /** A page is about the agent in a seat: what says its name changes with the name. */
  #follow({ id, seat }) {
    if (this.called === id) return;
    this.called = id;
    this.params = [id, ...this.params.slice(1)];
    renamed(seat, "agent", ...this.params);
    this.connect.replaceChildren(...howToConnect(id));
    store.touch("team"); // for the title of the document
  }

  #paintPlaces(agent) {
    const tasks = agent.tasks.map((task) => ({ task, text: talks.get(task)?.text }));
    if (tasks.some(({ text }) => !text) && !talks.session) talks.load();
    const told = JSON.stringify([agent.channels, tasks]);
    if (this.told === told) return;
    this.told = told;
    this.places.replaceChildren(
      ...tasks.map(({ task, text }) =>
        h(
          "a",
          { href: link("conversation", task), class: "place task", title: task },
          "Task: ",
          h("b", { text: visible(text ?? task, TASK_CHARS) }),
        ),
      ),
      ...Object.entries(agent.channels).map(([name, state]) =>
        h(
          "a",
          { href: link("channel", name), class: "place" },
          `#${name} `,
          h("span", { class: "badge", data: { turn: state }, text: state }),
        ),
      ),
    );
  }

  #step(by) {
    const all = store.shown;
    const at = all.findIndex(({ seat }) => seat === this.agent.seat);
    go("agent", all[(at + by + all.length) % all.length].id);
  }
}

const bornOf = ({ document }) => document?.createdAt;

function unsentText({ name, texts }, agent) {
  const other = agent.id === name ? `another ${name}` : agent.id;
  const why = `An import has put ${other} in the place of ${name}. What you had typed for ${name} was not sent:`;
  return h(
    "section",
    { class: "panel unsent", role: "alert" },
    h("p", { text: why }),
    ...texts.map((text) => h("pre", { text })),
  );
}

const [WORK, OUTPUT] = [0, 1]; // the places of their tabs
const LEAD = 4; // its seat
const TASK_CHARS = 90;

const changesOf = (agent) =>
  Object.assign(document.createElement("work-changes"), {
    owner: path`/api/agents/${idOf(agent)}`,
    seat: agent.seat,
  });

/** Needs that have a panel of their own on this page. */
const BELOW = new Set(["approval", "failing", "message"]);

const AUTHORITIES = {
  muster: "run by muster",
  lead: "run by the lead",
  self: "connects by itself",
  file: "its own loop follows its state file",
};

/** The facts in the header: where it works, what it has used, what is next, and how fresh all of that is. */
function factsOf(agent, place) {
  const { evidence, budget, counted, used } = agent;
  const most = budget.costUsd && `${dollars(counted?.costUsd ?? 0)} of ${dollars(budget.costUsd)}`;
  return [
    agent.node && `on ${agent.node}`,
    place && `in ${visible(place.folder, 120)}`,
    place?.branch && `branch ${visible(place.branch, 80)}`,
    agent.retryAt && `next try ${moment(agent.retryAt, true)}`,
    spentInFull(used) && `used ${spentInFull(used)}`,
    most && `budget: ${most}`,
    agent.confinement,
    agent.seat === LEAD ? "lead" : AUTHORITIES[agent.authority],
    evidence && `last sign: ${evidenceText(evidence)}`,
  ].filter(Boolean);
}

/** What a person does so that an agent that runs elsewhere connects. */
const howToConnect = (name) => [
  h("p", { text: "It connects by itself: run its program anywhere with these two, and with its token." }),
  copyLine(`export MUSTER_URL=${at("").replace(/\/$/, "")}`),
  copyLine(commandLine(["muster", "token", "issue", "--agent", name])),
];

function part(name, agent, className = "") {
  const element = document.createElement(name);
  element.seat = agent.seat;
  element.className = className;
  return element;
}

customElements.define("agent-view", AgentView);
