/** The sessions before and after this one, as the list shows them. */

import { orderSessions } from "../pages/sessions/items.js";
import * as store from "../pages/sessions/store.js";
import { readView, select } from "../pages/sessions/view.js";
import * as router from "../lib/router.js";
import { showToast } from "../ui/toast.js";

/**
 * Open a session beside this one in the list: with the filters, groups and order that the
 * list had last.
 *
 * @param {string} id
 * @param {1 | -1} step
 */
export async function openNeighbour(id, step) {
  try {
    const view = readView(new URLSearchParams(router.getLastAddress("/").split("?")[1] ?? ""));
    await (view.sort === "cost" ? store.load(false) : store.loadList());
    const next = findNeighbour(id, step, view);
    if (next) router.go(`/s/${encodeURIComponent(next.id)}`);
    else showToast(step === 1 ? "This is the last session of the list" : "This is the first session of the list", "close");
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), "close");
  }
}

/**
 * @param {string} id
 * @param {1 | -1} step
 * @param {import("../pages/sessions/view.js").View} view
 */
function findNeighbour(id, step, view) {
  const sessions = store.listSessions();
  const { selected } = select(sessions, view);
  // A session may have left the list meanwhile: in a list of unread ones, by being read.
  const own = sessions.find((session) => session.id === id);
  if (own && !selected.includes(own)) selected.push(own);
  const ordered = orderSessions(selected, view);
  const at = ordered.findIndex((session) => session.id === id);
  return at < 0 ? undefined : ordered[at + step];
}
