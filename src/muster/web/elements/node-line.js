// The machines of a team on several: sessions, room, load, since when one is away; and moving an agent to another one.

import { get, idOf, path, put } from "../api.js";
import { moment, secondsSince, span } from "../clock.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { store } from "../store.js";
import { visible } from "../visible.js";
import { openDialog } from "./dialog.js";

const AGAIN_S = 10; // a load changes without an event

class NodeLine extends Part {
  nodes = [];
  age = 0; // seconds since the machines were asked for

  start() {
    this.line ??= h("ul", { class: "counts" });
    this.watch(["team", "agents"], () => {
      this.age = AGAIN_S;
    });
    this.tick(() => this.#look());
    this.#look();
  }

  async #look() {
    this.age += 1;
    if (this.age > AGAIN_S && store.nodes > 1) {
      this.age = 0;
      this.nodes = (await get("/api/nodes").catch(() => this)).nodes;
    }
    setHidden(this, this.nodes.length < 2);
    if (this.hidden) return;
    if (!this.contains(this.line)) this.replaceChildren(h("h2", { text: "Machines" }), this.line);
    keyed(
      this.line,
      this.nodes,
      ({ name }) => name,
      ({ name }) =>
        h("li", {}, h("span", { class: "dot" }), " ", h("b", { text: visible(name) }), " ", h("span")),
      (item, node) => {
        item.firstChild.dataset.status = node.awaySince ? "unknown" : "alive";
        setAttribute(item, "title", visible(node.agents.join(", ")));
        setText(item.lastChild, facts(node));
      },
    );
  }
}

function facts({ awaySince, stopping, sessions, room, load, labels }) {
  const count = `${room === null ? sessions : `${sessions} of ${room}`} session${(room ?? sessions) === 1 ? "" : "s"}`;
  const away = awaySince && `away since ${moment(awaySince)}, ${span(secondsSince(awaySince))}`;
  const work = load !== null && `load ${Math.round(load * 100)} %`;
  return [away, stopping && "stopping", count, work, visible(labels.join(", "))].filter(Boolean).join(" · ");
}

/** Ask which machine an agent moves to. Off a machine that is away it moves only at a second word. */
export async function showMove(agent) {
  const error = errorLine();
  const buttons = h("div", { class: "buttons" });
  const dialog = openDialog(
    `Move ${agent.id}`,
    h("p", {
      text: `It is on ${agent.node ?? "no machine"}. Its session ends after its work, and the next one starts on the other machine. Files are not copied.`,
    }),
    error,
    buttons,
  );
  const send = async (node, anyway = false) => {
    const { code, message } = await put(path`/api/agents/${idOf(agent)}/node`, { node, anyway }).then(
      () => ({}),
      (problem) => problem,
    );
    if (!message) return dialog.close();
    show(error, message);
    if (code !== "node_away") return;
    const sure = pushButton(`Its process is dead: move it to ${node} anyway`, () => send(node, true), {
      data: { color: "red" },
    });
    buttons.replaceChildren(sure);
  };
  const { nodes, message } = await get("/api/nodes").catch((problem) => problem);
  show(error, message);
  const others = (nodes ?? []).filter(({ name, awaySince }) => name !== agent.node && !awaySince);
  buttons.append(...others.map(({ name }) => pushButton(`Move to ${name}`, () => send(name))));
  if (!message && !others.length) show(error, "No other machine is here.");
  buttons.firstChild?.focus();
}

customElements.define("node-line", NodeLine);
