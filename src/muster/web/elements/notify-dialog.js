// The dialog of notifications: what this browser is told of while the page is closed, and when not.

import { askForNotices, canNotify, wantsNotices } from "../attention.js";
import { errorLine, h, pushButton, setText, show } from "../dom.js";
import { obstacle, pushState, turnOff, turnOn } from "../push.js";
import { openDialog } from "./dialog.js";

const TOPICS = [
  ["needs", "Approvals, questions, stuck agents, reviews"],
  ["failed", "Failures of agents and tasks"],
  ["limit", "Limits and runaways"],
  ["message", "Messages to you"],
];

export async function showNotifications() {
  const body = h("div", { class: "notify" }, h("p", { text: "Asking the server …" }));
  const dialog = openDialog("Notifications", body);
  const state = await pushState().catch((problem) => ({ remedy: problem.message }));
  const stopped = obstacle() || state.remedy;
  if (stopped)
    body.replaceChildren(h("p", { text: stopped }), canNotify() && isSecureContext ? inPage() : "");
  else form(body, state, () => dialog.close());
}

/** Without push: notifications for as long as the page is open. */
function inPage() {
  const box = h("input", { type: "checkbox", on: { change: askForNotices } });
  box.checked = wantsNotices();
  return h("label", { class: "choice" }, box, " Notify me while this page is open in the background");
}

function form(body, state, close) {
  const isOn = Boolean(state.endpoint);
  const [from, until] = state.quiet?.split("-") ?? [];
  const boxes = TOPICS.map(([value, text]) => {
    const box = h("input", { type: "checkbox", name: "about", value });
    box.checked = !isOn || state.about.includes(value);
    return h("label", { class: "choice" }, box, ` ${text}`);
  });
  const error = errorLine();
  const hour = (label, value = "") => h("label", {}, `${label} `, h("input", { type: "time", value }));
  const hours = [hour("from", from), hour("to", until)];
  const save = h("button", { class: "main", text: isOn ? "Save" : "Turn on" });
  const end = async () => (await attempt(error, turnOff)) && close();
  const fields = h(
    "form",
    {},
    h("p", {
      text: isOn
        ? "This browser is notified, also while the page is closed, until you sign out."
        : "This browser can be notified of what needs you, also while the page is closed.",
    }),
    h("fieldset", {}, h("legend", { text: "Tell me of" }), boxes),
    h("fieldset", { class: "hours" }, h("legend", { text: "Quiet hours" }), hours),
    error,
    h("div", { class: "buttons" }, isOn && pushButton("Turn off", end), save),
  );
  fields.addEventListener("submit", async (event) => {
    event.preventDefault();
    setText(save, "Asking …");
    const about = [...fields.elements].filter((each) => each.name === "about" && each.checked);
    const [start, stop] = hours.map((each) => each.querySelector("input").value);
    const quiet = start && stop ? `${start}-${stop}` : "";
    const asked = () =>
      turnOn(
        state,
        about.map(({ value }) => value),
        quiet,
      );
    if (await attempt(error, asked)) close();
    else setText(save, isOn ? "Save" : "Turn on");
  });
  body.replaceChildren(fields);
}

async function attempt(error, run) {
  show(error, "");
  try {
    await run();
    return true;
  } catch (problem) {
    show(error, problem.message);
    return false;
  }
}
