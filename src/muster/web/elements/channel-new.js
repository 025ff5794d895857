// The form for a new channel: its name, and its members in the order of their turns. It is created with all of them, or
// not at all.

import { post } from "../api.js";
import { confirmed } from "../channels.js";
import { errorLine, h, keyed, pushButton, setAttribute, setHidden, setText, show } from "../dom.js";
import { Part } from "../part.js";
import { go, link } from "../router.js";
import { store } from "../store.js";

class ChannelNew extends Part {
  #chosen = []; // names in the order of the ring

  start() {
    this.name = h("input", {
      name: "channel",
      placeholder: "name",
      "aria-label": "Name of the new channel",
      autocomplete: "off",
      maxlength: "64",
      required: true,
    });
    this.order = h("p", { class: "muted", role: "status" });
    this.agents = h("div", { class: "pick", role: "group", "aria-label": "Members of the new channel" });
    this.none = h(
      "p",
      { class: "muted" },
      "There are no agents yet: ",
      h("a", { href: link(""), text: "how to begin" }),
      ".",
    );
    this.error = errorLine();
    this.replaceChildren(
      h(
        "form",
        { class: "row", on: { submit: (event) => this.#create(event) } },
        this.name,
        h("button", { text: "Create" }),
        h("details", {}, h("summary", { text: "With members" }), this.none, this.agents, this.order),
        this.error,
      ),
    );
    this.watch("agents", () => this.#paint());
  }

  #paint() {
    const names = store.shown
      .filter(({ name, status }) => name && status !== "hatching")
      .map(({ name }) => name);
    this.#chosen = this.#chosen.filter((name) => names.includes(name));
    setHidden(this.none, names.length > 0);
    keyed(
      this.agents,
      names,
      (name) => name,
      (name) => pushButton("", () => this.#toggle(name)),
      (button, name) => {
        const place = this.#chosen.indexOf(name);
        setText(button, place < 0 ? name : `${place + 1}. ${name}`);
        setAttribute(button, "aria-pressed", String(place >= 0));
      },
    );
    setText(this.order, this.#chosen.length ? `In this order: ${this.#chosen.join(", ")}` : "");
  }

  /** Members speak in the order in which they are chosen. */
  #toggle(name) {
    this.#chosen = this.#chosen.includes(name)
      ? this.#chosen.filter((each) => each !== name)
      : [...this.#chosen, name];
    this.#paint();
  }

  async #create(event) {
    event.preventDefault();
    const channel = this.name.value.trim();
    if (!channel) return;
    const created = await store.act("channel:new", "Creating", () =>
      confirmed(post("/api/channels", { channel, members: this.#chosen })),
    );
    show(this.error, store.failed.get("channel:new"));
    if (created) go("channel", channel);
  }
}

customElements.define("channel-new", ChannelNew);
