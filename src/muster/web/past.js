// Asking about the past, which muster may have to read first.

import { get } from "./api.js";

const AGAIN_MS = 500;

/** Ask until the log has been read far enough; tell of anything else that is wrong. */
export async function patiently(address, told) {
  for (;;) {
    try {
      return await get(address);
    } catch (problem) {
      told(problem);
      if (problem.code !== "still_reading") return null;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }
}
