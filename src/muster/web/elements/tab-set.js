// Tabs. A panel is built each time its tab is chosen.

import { h, pushButton, setAttribute } from "../dom.js";

const slug = (name) => name.toLowerCase().replaceAll(" ", "-");

class TabSet extends HTMLElement {
  tabs = []; // {name, make}
  isChosen = false; // whether a person has chosen a tab
  wanted = ""; // the tab in the address
  first = 0; // the place of the tab that is shown where the address names none
  onchoose = () => {}; // called with the tab that a person has chosen, as it is in an address

  connectedCallback() {
    if (this.childElementCount) return;
    // a person who reads or types in a panel has chosen it
    const focusin = () => (this.isChosen = true);
    this.panel = h("div", { role: "tabpanel", tabindex: "0", on: { focusin } });
    const list = h(
      "div",
      { role: "tablist", on: { keydown: (event) => this.#move(event) } },
      this.tabs.map((tab, index) => pushButton(tab.name, () => this.#press(index), { role: "tab" })),
    );
    this.append(list, this.panel);
    this.buttons = [...list.children];
    const index = this.tabs.findIndex(({ name }) => slug(name) === this.wanted);
    this.isChosen = index >= 0;
    this.choose(this.isChosen ? index : this.first);
  }

  #press(index) {
    this.isChosen = true;
    this.choose(index);
    this.onchoose(slug(this.tabs[index].name));
  }

  choose(index) {
    this.chosen = index;
    this.buttons.forEach((button, at) => {
      setAttribute(button, "aria-selected", String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    });
    this.panel.setAttribute("aria-label", this.tabs[index].name);
    this.panel.replaceChildren(this.tabs[index].make());
  }

  /** Build the panel of a tab again, if it is the one that is shown. */
  refresh(name) {
    const { name: shown, make } = this.tabs[this.chosen];
    if (shown === name) this.panel.replaceChildren(make());
  }

  #move(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.#press((this.chosen + by + this.tabs.length) % this.tabs.length);
    this.buttons[this.chosen].focus();
  }
}

customElements.define("tab-set", TabSet);
