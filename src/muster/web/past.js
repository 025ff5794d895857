// Requests about the past. After a restart the server may still be reading the log for them.

import { get } from "./api.js";

const AGAIN_MS = 500;

/** GET, with retries while the server is still reading the log. `told` is called with every problem; another problem
 *  ends the retries, and the result is null. */
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
