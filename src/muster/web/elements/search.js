// Search for an agent, a channel or a view; Enter opens it.

import { h, keyed, setAttribute } from "../dom.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { VIEWS } from "../views/views.js";
import { openDialog } from "./help.js";

const SHOWN = 12;

export function showSearch() {
  let chosen = 0;
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "Results" });
  const input = h("input", {
    type: "text",
    placeholder: "Agent, channel or activity …",
    role: "combobox",
    autocomplete: "off",
    "aria-label": "Search",
    "aria-controls": "found",
    "aria-expanded": "true",
    autofocus: true,
  });
  const dialog = openDialog("Search", input, list);
  let places = [];

  const open = (place) => {
    dialog.close();
    go(...place.path);
  };
  const mark = () => {
    for (const [index, item] of [...list.children].entries()) {
      setAttribute(item, "aria-selected", String(index === chosen));
    }
  };
  const look = () => {
    places = find(input.value).slice(0, SHOWN);
    chosen = Math.min(chosen, Math.max(0, places.length - 1));
    keyed(
      list,
      places,
      (place) => place.path.join("/"),
      (place) =>
        h(
          "li",
          { role: "option", on: { click: () => open(place) } },
          h("strong", { text: place.name }),
          " ",
          h("span", { class: "muted", text: place.about }),
        ),
    );
    mark();
  };
  const keys = {
    ArrowDown: () => (chosen = (chosen + 1) % Math.max(1, places.length)),
    ArrowUp: () => (chosen = (chosen - 1 + places.length) % Math.max(1, places.length)),
    Enter: () => places[chosen] && open(places[chosen]),
  };
  input.addEventListener("input", () => {
    chosen = 0;
    look();
  });
  input.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
    mark();
  });
  look();
}

function find(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return places().filter(({ name, about }) =>
    wanted.every((word) => `${name} ${about}`.toLowerCase().includes(word)),
  );
}

function places() {
  const agents = store.shown.map((agent) => ({
    path: ["agent", agent.id],
    name: agent.name ?? `seat ${agent.seat}`,
    about: `${agent.status}, ${agent.badge.status} ${store.note(agent.seat).doing?.text ?? ""}`,
  }));
  const hasChannels = VIEWS.some((view) => view.name === "channel");
  const channels = hasChannels
    ? [...store.channels.keys()].map((name) => ({
        path: ["channel", name],
        name: `#${name}`,
        about: "channel",
      }))
    : [];
  const views = VIEWS.filter((view) => view.tab).map((view) => ({
    path: [view.name],
    name: view.tab,
    about: "view",
  }));
  return [...agents, ...channels, ...views];
}
