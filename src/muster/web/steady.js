// Rows whose buttons count only when a person could have read them: a row that has just come into view, moved, or become the target
// of keys is inert for a moment.

export const READ_MS = 500;

/** The place of an element in the page, whatever is scrolled. */
function placeOf(element) {
  let [top, left] = [0, 0];
  for (let each = element; each; each = each.offsetParent)
    [top, left] = [top + each.offsetTop, left + each.offsetLeft];
  return `${top} ${left}`;
}

export class Steady {
  #changed;
  #seen = new IntersectionObserver((entries) => entries.map((entry) => this.#look(entry)), {
    threshold: 0.9,
  });

  /** `changed` is called with a row that has become ready, or is no longer. */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Watch a row: it is ready when its buttons have been in view, at one place, for a moment. */
  guard(row, buttons) {
    row.isReady = false;
    buttons.row = row;
    this.#seen.observe(buttons);
  }

  #look({ target, isIntersecting }) {
    const { row } = target;
    row.isInView = isIntersecting;
    this.restart(row);
  }

  /** Let a row wait anew. */
  restart(row) {
    clearTimeout(row.settling);
    row.place = placeOf(row);
    row.isReady = false;
    this.#changed(row);
    if (row.isInView) row.settling = setTimeout(() => this.#settle(row), READ_MS);
  }

  #settle(row) {
    if (this.#isMoved(row)) return;
    row.isReady = true;
    this.#changed(row);
  }

  /** Whether a row has moved; then it waits anew. */
  #isMoved(row) {
    if (row.place === placeOf(row)) return false;
    this.restart(row);
    return true;
  }

  /** Let rows wait anew that have moved. */
  check(rows) {
    for (const row of rows) this.#isMoved(row);
  }

  /** Whether a press on a row counts now. */
  counts(row) {
    return !this.#isMoved(row) && row.isReady;
  }

  end() {
    this.#seen.disconnect();
  }
}
