/** The files that agents changed: the list, or the history of one file. */

import { showHistory } from "./files/history.js";
import { showList } from "./files/list.js";

/** @type {import("../lib/router.js").Page} */
export async function showPage(context) {
  await (context.query.get("path") ? showHistory(context) : showList(context));
}
