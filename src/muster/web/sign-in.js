// The page to sign in. The code of a sign-in link is behind its #, with the view to show after a slash:
// /sign-in#CODE/agent/Ada. It is exchanged once, and leaves the address bar at once. A link to a view that was opened
// signed out has no code: #/agent/Ada is shown after the sign-in.

import { at } from "./address.js";

const form = document.querySelector("form");
const field = document.getElementById("token");
const problem = document.getElementById("problem");
const PLACE = "sign-in-place"; // survives the way to the provider of single sign-on and back

function send(path, body) {
  problem.textContent = "";
  const headers = { "content-type": "application/json" };
  return fetch(at(path), { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
}

async function tell(answer) {
  const told = await answer?.json().catch(() => null);
  problem.textContent = told?.detail ?? "muster does not answer. Is it up?";
  field.focus();
}

async function signIn(path, secret) {
  const answer = await send(path, secret);
  if (localStorage.getItem("notify") === "push") localStorage.removeItem("notify"); // of an earlier session
  if (answer?.ok) return location.replace(at(`/${sessionStorage.getItem(PLACE) ?? ""}`));
  await tell(answer);
}

function followLink() {
  const [code, ...view] = location.hash.slice(1).split("/");
  const back = new URLSearchParams(location.search); // from the provider of single sign-on
  history.replaceState(null, "", at("/sign-in"));
  if (view.length || !back.has("state"))
    sessionStorage.setItem(PLACE, view.length ? `#/${view.join("/")}` : "");
  if (code) signIn("/api/session", { code });
  else if (back.has("state")) finishSso(back);
  else field.focus();
}

function finishSso(back) {
  if (back.has("code"))
    return signIn("/api/session/sso/finish", { code: back.get("code"), state: back.get("state") });
  problem.textContent = `Single sign-on failed: ${back.get("error_description") ?? back.get("error")}.`;
}

/** Offer single sign-on, where there is a provider. */
async function offerSso() {
  const answer = await fetch(at("/api/session/ways")).catch(() => null);
  const { sso = null } = (await answer?.json().catch(() => null)) ?? {};
  if (!sso) return;
  const line = document.getElementById("sso");
  line.hidden = false;
  line.firstElementChild.textContent = sso;
  line.firstElementChild.addEventListener("click", async () => {
    const begun = await send("/api/session/sso", {});
    if (!begun?.ok) return tell(begun);
    location.assign((await begun.json()).url);
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  signIn("/api/session", { token: field.value.trim() });
});
addEventListener("hashchange", followLink);
followLink();
offerSso();
