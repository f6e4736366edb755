/** The threads page. */

import { makeMessage } from "../lib/states.js";

/** @type {import("../lib/router.js").Page} */
export function showPage({ root }) {
  root.replaceChildren(makeMessage("threads"));
}
