// The page: the top bar, the global keyboard shortcuts, and the view named by the URL.

import "./elements/connection-pill.js";
import "./views/agent.js";
import "./views/channel.js";
import "./views/conversation.js";
import "./views/team.js";
import "./views/time.js";
import { at } from "./address.js";
import { announceApprovals } from "./approvals.js";
import { watchNeeds } from "./attention.js";
import { costs } from "./costs.js";
import { h, pushButton } from "./dom.js";
import { showHelp } from "./elements/help.js";
import { showSearch } from "./elements/search.js";
import * as keys from "./keys.js";
import { watchLooks } from "./looks.js";
import { forget } from "./push.js";
import { go, link, route, start } from "./router.js";
import { store } from "./store.js";
import { nextTheme, startTheme } from "./theme.js";
import { VIEWS } from "./views/views.js";
import { visible } from "./visible.js";

const tabs = VIEWS.filter((view) => view.tab);

function buildBar() {
  const nav = document.querySelector("nav");
  nav.append(
    ...tabs.map((view, index) =>
      h(
        "a",
        { href: link(view.name), data: { view: view.name }, title: `${view.tab} ( ${index + 1} )` },
        view.tab,
      ),
    ),
  );
  const mark = () => {
    const { view } = route();
    for (const each of nav.children) {
      const here = each.dataset.view === (view.under ?? view.name);
      here ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current");
    }
  };
  document.addEventListener("routed", mark);
}

function bindKeys() {
  keys.add("?", "Show keyboard shortcuts", showHelp);
  keys.add("/", "Find, go to or do anything (also ⌘K or Ctrl+K)", showSearch);
  keys.onPalette(showSearch);
  keys.add("t", "Switch theme: system, light or dark", nextTheme);
  keys.add("Escape", "Back to the team", () => location.hash !== "#/" && go(""));
  for (const [index, view] of tabs.entries()) keys.add(String(index + 1), view.tab, () => go(view.name));
  for (const [id, run] of [
    ["help", showHelp],
    ["search", showSearch],
    ["theme", nextTheme],
    ["sign-out", signOut],
  ]) {
    document.getElementById(id).addEventListener("click", run);
  }
}

async function signOut() {
  const answer = await fetch(at("/api/session"), { method: "DELETE" }).catch(() => null);
  if (!answer?.ok) return;
  await forget().catch(() => {}); // the server notifies this browser no more in any case
  location.replace(at("/sign-in"));
}

function showNotice() {
  const bar = document.querySelector("header.bar");
  const line = h("aside", { class: "notice", "aria-label": "Notice" });
  const paint = () => {
    line.textContent = store.notice;
    line.hidden = !store.notice;
  };
  bar.after(line);
  store.watch("team", paint);
  paint();
}

function rightsText(scope) {
  if (!scope) return "speak, ask, answer, start and stop agents";
  const { agents = [], channels = [] } = scope;
  const named = agents.map((seat) => store.agents.get(seat)?.id ?? `seat ${seat}`);
  const shown = [...named, ...channels.map((name) => `#${name}`)].map((name) => visible(name, 60));
  return `act on ${shown.join(", ") || "nothing"}, and read the rest`;
}

/** What a viewer or a member may do: the page draws nothing that the server would refuse. */
function showReader() {
  if (!store.reader && !store.member) return;
  const text = store.reader
    ? "You are signed in as a viewer: you can read everything, and change nothing."
    : `You are signed in as ${store.user}, a member: you ${rightsText(store.scope)}. Settings are for operators.`;
  const label = store.reader ? "Signed in as a viewer" : "Signed in as a member";
  document
    .querySelector("header.bar")
    .after(h("aside", { class: "notice reader", "aria-label": label, text }));
}

/** A mistake in the settings file, and settings that wait for a restart. */
function showSettings() {
  const line = h("p", { class: "notice", role: "alert", hidden: true });
  const paint = () => {
    const { settingsProblem: problem, settingsWaiting: waiting } = store;
    const told = [
      problem && `${problem} The earlier settings stay in force.`,
      waiting.length && `Restart muster for ${waiting.join(", ")}.`,
    ].filter(Boolean);
    line.textContent = told.join(" ");
    line.hidden = told.length === 0;
    line.classList.toggle("bad", Boolean(problem));
  };
  document.querySelector("header.bar").after(line);
  store.watch("team", paint);
  paint();
}

/** After a restart: say so where the server no longer has the files of this page, since another version of muster runs. */
function watchVersion() {
  const build = document.querySelector("meta[name=build]").content;
  const line = h(
    "aside",
    { class: "notice", "aria-label": "New version", hidden: true },
    "muster was updated, and this page is of the version before. ",
    pushButton("Reload", () => location.reload(), { class: "button" }),
  );
  document.querySelector("header.bar").after(line);
  store.listen(async (events) => {
    if (!events.some(({ type }) => type === "muster_started")) return;
    const answer = await fetch(at(`/web/${build}/icon.svg`), { cache: "no-store" }).catch(() => null);
    line.hidden = answer?.status !== 404;
  });
}

startTheme();
buildBar();
bindKeys();
watchNeeds();
announceApprovals();
await store.open();
costs.follow();
watchLooks();
watchVersion();
showNotice();
showSettings();
showReader();
start(document.getElementById("main"));
