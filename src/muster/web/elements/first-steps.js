// The page of a team without agents: add one, start from a template, or watch the demo. What is offered works here:
// the server says which programs it has found, and what each template would run.

import { get, post } from "../api.js";
import { errorLine, h, pushButton, show } from "../dom.js";
import { Part } from "../part.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { OWN_PROGRAM, showAddAgent, signInNote } from "./agent-dialog.js";
import { copyLine } from "./copy-line.js";

class FirstSteps extends Part {
  start() {
    if (this.childElementCount) return;
    this.programs = h("div", { class: "offers" });
    this.templates = h("div", { class: "offers" }, h("p", { class: "muted", text: "Looking…" }));
    this.error = errorLine();
    this.append(
      h("h2", { text: "No agents yet" }),
      h("p", { text: "An agent is a program that muster runs, or one that connects by itself." }),
      h(
        "div",
        { class: "first-steps" },
        h(
          "section",
          { data: { acts: "operator" } },
          h("h3", { text: "Add an agent" }),
          h("p", { class: "muted", text: "Found on this machine:" }),
          this.programs,
        ),
        h(
          "section",
          { data: { acts: "operator" } },
          h("h3", { text: "Start from a template" }),
          h("p", { class: "muted", text: "A whole team with its channel, and limits on what it spends." }),
          this.templates,
          this.error,
        ),
        h(
          "section",
          {},
          h("h3", { text: "From a terminal" }),
          h("p", { class: "muted", text: "Watch the demo team, which needs no key and no network:" }),
          copyLine("muster up --demo"),
          h("p", { class: "muted", text: "Run a program of your own:" }),
          copyLine("muster agent add builder -- ./build-something.sh"),
          h("p", { class: "muted", text: "Let an agent connect by itself, with a token of its own:" }),
          copyLine("muster agent register pm"),
        ),
      ),
    );
    if (store.operates) this.#offer();
  }

  async #offer() {
    const [{ programs }, { templates }] = await Promise.all([
      get("/api/runtimes").catch(() => ({ programs: [] })),
      get("/api/templates").catch(() => ({ templates: [] })),
    ]);
    const found = programs.filter(({ isFound }) => isFound);
    this.unsigned = found.filter(({ lacksSignIn }) => lacksSignIn);
    this.programs.replaceChildren(...found.map(offer), offer({ label: OWN_PROGRAM }));
    this.templates.replaceChildren(...templates.map((each) => this.#template(each)));
  }

  #template(template) {
    const { name, about, agents, needsModel } = template;
    const runs = [...new Set(agents.map((agent) => agent.runs))].join(", ");
    const button = pushButton(`Start ${name}`, () => this.#begin(template, button));
    const scripted = pushButton("Start without a model", () => this.#begin(template, scripted, true), {
      "aria-label": `Start ${name} without a model`,
      title: "Its agents say prepared lines: no key, no cost",
      hidden: !needsModel,
    });
    const unsigned = this.unsigned.filter(({ label }) => agents.some((agent) => agent.runs === label));
    return h(
      "div",
      { class: "template" },
      h("strong", { text: name }),
      h("p", { text: about }),
      h("p", { class: "muted", text: `${agents.map((agent) => agent.name).join(", ")}: ${runs}` }),
      h(
        "details",
        {},
        h("summary", { text: "Settings that it writes" }),
        h("pre", { tabindex: "0", text: template.text }),
      ),
      ...unsigned.map(signInNote),
      button,
      scripted,
    );
  }

  async #begin({ name, channels }, button, withoutModel = false) {
    button.disabled = true;
    show(this.error, "");
    try {
      await post("/api/settings/template", { name, withoutModel });
      if (channels.length) go("channel", channels[0]); // where the first message is written
    } catch (problem) {
      show(this.error, problem.message);
      button.disabled = false;
    }
  }
}

const offer = (program) =>
  h(
    "button",
    { type: "button", class: "offer", on: { click: () => showAddAgent(program.label) } },
    h("strong", { text: program.label }),
    h("small", { class: "muted", text: program.lacksSignIn ? "No sign-in found" : (program.version ?? "") }),
  );

customElements.define("first-steps", FirstSteps);
