// Text that a person has typed and not sent. This tab keeps it, so that neither a live update nor a reload loses it.

/** The key of a draft about an agent. Another team at this address may have another agent in the seat. */
export const draftKey = (what, { seat, document }) => `draft:${seat}:${document?.createdAt ?? ""}:${what}`;

/** Fill a field with its draft, or else with `text`, and keep what is typed. */
export function keepDraft(field, key, text = "") {
  field.value = sessionStorage.getItem(key) ?? text;
  field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
}

/** The keys of drafts that begin so. */
export const draftsOf = (begin) => Object.keys(sessionStorage).filter((key) => key.startsWith(begin));

export const draftOf = (key) => sessionStorage.getItem(key);

export const dropDraft = (key) => sessionStorage.removeItem(key);

/** Forget a draft that was sent; false if other text was typed meanwhile, which stays. */
export function settleDraft(field, key, sent) {
  if (field.value.trim() !== sent.trim()) return false;
  dropDraft(key);
  return true;
}
