// Notifications while the page is closed (Web Push). They belong to the session of this browser: signing out ends them.

import { get, put, remove } from "./api.js";
import { serviceWorkerURL } from "./trusted.js";

/** The reason why this browser cannot be notified while the page is closed; empty if it can. */
export function obstacle() {
  if (!isSecureContext) return "Browsers notify only pages with https, or pages of this machine (localhost).";
  if (!("serviceWorker" in navigator && "PushManager" in window))
    return "This browser has no push notifications. On an iPhone or iPad, add this page to the Home Screen first.";
  if (Notification.permission === "denied")
    return "This browser blocks notifications of muster. Allow them in its settings for this site.";
  return "";
}

/** Whether and of what this browser is notified, as the server has it. */
export const pushState = () => get("/api/push");

/** Notify this browser. The server sends a first message, so a failure is told at once. */
export async function turnOn({ key, endpoint }, about, quiet) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(obstacle() || "Not allowed.");
  await navigator.serviceWorker.register(serviceWorkerURL());
  const { pushManager } = await navigator.serviceWorker.ready;
  const old = await pushManager.getSubscription();
  if (old && old.endpoint !== endpoint) await old.unsubscribe(); // of another session, or another key
  const options = { userVisibleOnly: true, applicationServerKey: key };
  const { keys, endpoint: address } = (await pushManager.subscribe(options)).toJSON();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  await put("/api/push", { endpoint: address, keys, about, quiet, zone });
  localStorage.setItem("notify", "push");
}

export async function turnOff() {
  await remove("/api/push");
  await forget();
}

/** End the subscription of this browser, and take away what it shows. */
export async function forget() {
  if (localStorage.getItem("notify") !== "push") return;
  localStorage.removeItem("notify");
  const found = await registered();
  for (const shown of (await found?.getNotifications()) ?? []) shown.close();
  await (await found?.pushManager.getSubscription())?.unsubscribe();
}

/** Take away notifications of needs that are no more. */
export async function closeAllBut(keys) {
  for (const shown of (await (await registered())?.getNotifications()) ?? [])
    if (shown.tag && !keys.includes(shown.tag)) shown.close();
}

const registered = () => navigator.serviceWorker?.getRegistration();
