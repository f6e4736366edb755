/** One session, to read. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { showError } from "../lib/states.js";

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, params, signal }) {
  try {
    const data = await get(`/sessions/${encodeURIComponent(params["id"] ?? "")}`, {}, signal);
    document.title = `${data.session.title} · leslied`;
    root.replaceChildren(h("h1", {}, data.session.title), data.units.map(drawUnit)[0]);
  } catch (error) {
    showError(root, error);
  }
}

/** @param {any} unit */
function drawUnit(unit) {
  return h("section", {}, unit.entries.map((/** @type {any} */ entry) => h("p", {}, entry.content)));
}
