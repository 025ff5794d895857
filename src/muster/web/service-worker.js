// Notifications while the page of muster is closed. There is no cache and no `fetch` handler here: a page shows what the
// server says, or nothing. A press is confirmed by the server before the notification goes.

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("push", (event) => event.waitUntil(showMessage(event.data?.json() ?? {})));

addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  event.waitUntil(action ? answer(notification, action === "allow") : open(notification));
});

/** Show a message. Allow is offered only where the text is all of the request. */
function showMessage({ title = "muster", body = "", tag = "", place = "#/", approval = "", whole = false }) {
  const allow = whole ? [{ action: "allow", title: "Allow" }] : [];
  const actions = approval ? [...allow, { action: "deny", title: "Deny" }] : [];
  return registration.showNotification(title, {
    body,
    tag,
    actions,
    requireInteraction: Boolean(approval),
    data: { title, place, approval },
  });
}

async function answer(notification, allow) {
  const { title, place, approval } = notification.data;
  const problem = await send(approval, allow);
  if (!problem) return notification.close();
  const { tag } = notification;
  await registration.showNotification(`Not answered: ${title}`, { body: problem, tag, data: { place } });
}

/** Answer a request as the person who is signed in; the reason if the server did not take it. */
async function send(approval, allow) {
  const headers = { "content-type": "application/json", "idempotency-key": `push-${approval}-${allow}` };
  const options = { method: "POST", headers, body: JSON.stringify({ allow }), cache: "no-store" };
  const reply = await fetch(at(`api/approvals/${encodeURIComponent(approval)}`), options).catch(() => null);
  if (!reply) return "muster is not reachable. Open it when it is.";
  if (reply.ok) return "";
  if (reply.status === 401) return "You are signed out. Open muster, sign in, and answer there.";
  const told = await reply.json().catch(() => null);
  return told?.detail ?? `muster answered ${reply.status}.`;
}

async function open(notification) {
  const { place } = notification.data;
  notification.close();
  const [window] = await clients.matchAll({ type: "window" });
  if (!window) return clients.openWindow(at(place));
  window.postMessage({ place });
  return window.focus();
}

const at = (place) => new URL(place, registration.scope).href;
