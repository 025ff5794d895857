// The server's clock, and ages relative to it. Ages are repainted once a second, without an event.

let skew = 0; // milliseconds by which the server's clock is ahead of the browser's

export function setServerTime(now) {
  skew = Date.parse(now) - Date.now();
}

export const serverNow = () => Date.now() + skew;

/** Seconds since a server timestamp, never negative. */
export const secondsSince = (moment) => Math.max(0, (serverNow() - Date.parse(moment)) / 1000);

/** Seconds until a server timestamp, never negative. */
export const secondsUntil = (moment) => Math.max(0, (Date.parse(moment) - serverNow()) / 1000);

/** A duration, rounded: 5 s, 3 min, 2 h, 4 d. */
export function span(seconds) {
  if (seconds < 90) return `${Math.floor(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** The evidence for an agent's status, and its age. One that holds since then is not "ago". */
export function evidenceText({ kind, at, isOngoing }) {
  const age = span(secondsSince(at));
  return isOngoing ? `${kind} for ${age}` : `${kind}, ${age} ago`;
}

export const timeOfDay = (moment, seconds = false) =>
  new Date(moment).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds ? { second: "2-digit" } : {}),
  });

/** A time where the person is: the time of day, with the weekday or the date where it is not today. */
export function moment(at, seconds = false) {
  const then = new Date(at);
  const days = Math.round((midnight(then) - midnight(new Date(serverNow()))) / 86_400_000);
  if (days === 0) return timeOfDay(at, seconds);
  const day = Math.abs(days) < 7 ? { weekday: "short" } : { day: "numeric", month: "short" };
  return `${then.toLocaleDateString([], day)} ${timeOfDay(at, seconds)}`;
}

const midnight = (time) => new Date(time).setHours(0, 0, 0, 0);

const ticking = new Set();
let timer = null;

/** Call `paint` once a second while the page is visible. Returns a function that ends it. */
export function everySecond(paint) {
  ticking.add(paint);
  if (timer === null) timer = setInterval(tick, 1000);
  return () => ticking.delete(paint);
}

function tick() {
  if (document.hidden) return;
  for (const paint of ticking) paint();
}
