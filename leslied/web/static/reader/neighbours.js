/** The sessions before and after this one, in the order of the list. */

import { get } from "../lib/api.js";
import * as router from "../lib/router.js";
import { showToast } from "../ui/toast.js";

const FILTERS = ["agent", "project", "model", "status", "since", "until", "sort"];
const MAX_SESSIONS = 1000;

/**
 * Open a session beside this one in the list.
 *
 * @param {string} session
 * @param {1 | -1} step
 */
export async function openNeighbour(session, step) {
  const query = new URLSearchParams(router.getLastAddress("/").split("?")[1] ?? "");
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  try {
    const { sessions } = await get("/sessions", { ...filters, limit: MAX_SESSIONS });
    const at = sessions.findIndex((/** @type {any} */ each) => each.id === session);
    const next = at < 0 ? null : sessions[at + step];
    if (next) router.go(`/s/${encodeURIComponent(next.id)}`);
    else showToast(step === 1 ? "This is the last session of the list" : "This is the first session of the list", "close");
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), "close");
  }
}
