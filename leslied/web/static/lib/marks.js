/** The star, tags and note of a session: changes, and listeners to changes. */

import { change, get } from "./api.js";

/**
 * @typedef {object} Marks
 * @property {string} id
 * @property {string} agent
 * @property {boolean} starred
 * @property {string[]} tags
 * @property {string | null} note
 * @property {boolean} unread
 */

/**
 * @typedef {object} Edit A change of the tags and the note.
 * @property {string[]} added Tags.
 * @property {string[]} removed Tags.
 * @property {string | null} note The new note; null if it stays.
 */

/** @type {Set<(marks: Marks) => void>} */
const listeners = new Set();
/** @type {{ session: string, edit: Edit } | null} The edit that takes the last one back. */
let reversal = null;

/**
 * Call a function with the new marks after every change in this tab. Other tabs get an
 * event of the server.
 *
 * @param {(marks: Marks) => void} listener
 * @param {AbortSignal} [signal]
 */
export function onMarksChange(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener));
}

/**
 * @param {string} session
 * @param {AbortSignal} [signal]
 * @returns {Promise<Marks>}
 */
export async function loadMarks(session, signal) {
  return await get(`${makePath(session)}/marks`, {}, signal);
}

/**
 * @param {string} session
 * @param {boolean} starred
 */
export async function setStar(session, starred) {
  await send("PUT", session, "star", { starred });
}

/**
 * Record that the user has seen everything in a session.
 *
 * @param {string} session
 */
export async function markVisited(session) {
  await send("PUT", session, "visited", { visited: true });
}

/**
 * Change the tags and the note of a session.
 *
 * @param {Marks} marks Those that the user saw.
 * @param {Edit} edit
 */
export async function editMarks(marks, edit) {
  const { added, removed, note } = edit;
  await applyEdit(marks.id, edit);
  const earlierNote = note === null ? null : marks.note ?? "";
  reversal = { session: marks.id, edit: { added: removed, removed: added, note: earlierNote } };
}

/** @returns {Promise<boolean>} Whether there was an edit to take back. */
export async function undoEdit() {
  if (!reversal) return false;
  const { session, edit } = reversal;
  reversal = null;
  await applyEdit(session, edit);
  return true;
}

/**
 * @param {string} session
 * @param {Edit} edit
 */
async function applyEdit(session, { added, removed, note }) {
  if (added.length || removed.length) {
    await send("POST", session, "tags", { add: added.join(" "), remove: removed.join(" ") });
  }
  if (note !== null) await send("PUT", session, "note", { note });
}

/**
 * @param {"POST" | "PUT"} method
 * @param {string} session
 * @param {string} mark The last part of the endpoint's path.
 * @param {Record<string, unknown>} body
 */
async function send(method, session, mark, body) {
  const marks = await change(method, `${makePath(session)}/${mark}`, body);
  for (const listener of listeners) listener(marks);
}

/** @param {string} session */
function makePath(session) {
  return `/sessions/${encodeURIComponent(session)}`;
}
