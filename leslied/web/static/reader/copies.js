/** The text of a session or unit, to paste somewhere else. */

import { ApiError, toQuery } from "../lib/api.js";
import { copyText } from "../lib/copy.js";

const NAMES = { leslie: "Leslie text", markdown: "Markdown" };

/**
 * Copy a session, or one of its units.
 *
 * @param {string} session
 * @param {"leslie" | "markdown"} format
 * @param {number} [unit]
 */
export async function copyFrom(session, format, unit) {
  const path = `/api/sessions/${encodeURIComponent(session)}/copy`;
  const response = await fetch(path + toQuery({ format, unit }));
  if (!response.ok) throw new ApiError("The text could not be made.", "Try again.", response.status);
  await copyText(await response.text(), NAMES[format]);
}
