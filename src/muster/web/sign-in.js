// The page to sign in. The code of a sign-in link is behind its #, with the view to show after a slash:
// /sign-in#CODE/agent/Ada. It is exchanged once, and leaves the address bar at once.

import { at } from "./address.js";

const form = document.querySelector("form");
const field = document.getElementById("token");
const problem = document.getElementById("problem");

async function signIn(secret, place) {
  problem.textContent = "";
  const answer = await fetch(at("/api/session"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(secret),
  }).catch(() => null);
  if (localStorage.getItem("notify") === "push") localStorage.removeItem("notify"); // of an earlier session
  if (answer?.ok) return location.replace(at(`/${place}`));
  const told = await answer?.json().catch(() => null);
  problem.textContent = told?.detail ?? "muster does not answer. Is it up?";
  field.focus();
}

function followLink() {
  const [code, ...view] = location.hash.slice(1).split("/");
  history.replaceState(null, "", at("/sign-in"));
  if (code) signIn({ code }, view.length ? `#/${view.join("/")}` : "");
  else field.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  signIn({ token: field.value.trim() }, "");
});
addEventListener("hashchange", followLink);
followLink();
