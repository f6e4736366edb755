/**
 * All sessions, kept up to date while the page is open.
 *
 * The first screen comes with one small request; then all sessions in short, and then
 * their costs.
 */

import { change, get } from "../../lib/api.js";
import { onLive, onReconnect } from "../../lib/live.js";
import { onMarksChange } from "../../lib/marks.js";
import { showToast } from "../../ui/toast.js";

/**
 * @typedef {object} Session
 * @property {string} key Unique also if two agents use the same id.
 * @property {string} id
 * @property {string} agent
 * @property {string} title
 * @property {string} project Path, or empty.
 * @property {string} model
 * @property {"active" | "idle" | "stopped"} status
 * @property {number | null} startedMs
 * @property {number | null} endedMs
 * @property {number} units
 * @property {number} toolCalls
 * @property {number} tokens
 * @property {number} subagents
 * @property {boolean} isHidden
 * @property {number | null} cost In dollars; null if unknown.
 * @property {boolean} isStarred
 * @property {string[]} tags
 * @property {string} note
 * @property {boolean} isUnread
 * @property {string} waitingFor What the agent waits for, such as a permission; or empty.
 * @property {string} haystack What the filter box looks in.
 * @property {number} revision Larger each time that the session changes.
 */

const FIRST_COUNT = 60;
/** Longest list of ids in one request; the server limits the length of an address. */
const MAX_IDS = 150;
const REFRESH_MS = 200;
/** A session becomes idle or stopped by the mere passing of time. */
const STATUS_REFRESH_MS = 30_000;

/** @type {Map<string, Session>} */
let sessions = new Map();
/** @type {Map<string, number>} */
let costs = new Map();
/** @type {Set<(changed: Set<string>) => void>} */
const listeners = new Set();
/** @type {Set<string>} */
const changedIds = new Set();
/** @type {{ list: Promise<void>, costs: Promise<void> } | null} */
let loading = null;
let isWatching = false;
let isComplete = false;
let hasCosts = false;
let revision = 0;
let timer = 0;
let refreshedAt = 0;

/** @returns {Session[]} In no particular order. */
export function listSessions() {
  return [...sessions.values()];
}

/** @returns {{ isComplete: boolean, hasCosts: boolean }} How much has been loaded. */
export function getState() {
  return { isComplete, hasCosts };
}

/**
 * Call a function with the keys of sessions that changed until the signal is aborted.
 *
 * @param {(changed: Set<string>) => void} listener
 * @param {AbortSignal} signal
 */
export function onChange(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

/**
 * Load the data that have not been loaded yet, and before them the first screen if the
 * view begins with it. Listeners are called after each step.
 *
 * @param {boolean} isFirstScreenUseful
 */
export async function load(isFirstScreenUseful) {
  loading ??= startLoading(isFirstScreenUseful);
  await loading.costs;
}

/** Load all sessions, without waiting for what they cost. */
export async function loadList() {
  loading ??= startLoading(false);
  await loading.list;
}

/**
 * Add or remove the star of a session.
 *
 * @param {Session} session
 */
export async function star(session) {
  const starred = !session.isStarred;
  await changeMark(session, { isStarred: starred }, "star", { starred });
}

/**
 * Mark a session as unread, or as read.
 *
 * @param {Session} session
 */
export async function toggleUnread(session) {
  const visited = session.isUnread;
  await changeMark(session, { isUnread: !visited }, "visited", { visited });
}

/**
 * Change a mark on the screen at once, then on the server; take it back if that fails.
 *
 * @param {Session} session
 * @param {Partial<Session>} fields
 * @param {string} mark The last part of the endpoint's path.
 * @param {Record<string, boolean>} body
 */
async function changeMark(session, fields, mark, body) {
  replaceSession(session, fields);
  try {
    await change("PUT", `/sessions/${encodeURIComponent(session.id)}/${mark}`, body);
  } catch (error) {
    replaceSession(session, {});
    showToast(error instanceof Error ? error.message : String(error), "close");
  }
}

/**
 * @param {Session} session
 * @param {Partial<Session>} fields
 */
function replaceSession(session, fields) {
  sessions.set(session.key, makeSession({ ...session, ...fields }));
  notify(new Set());
}

/** @param {boolean} isFirstScreenUseful */
function startLoading(isFirstScreenUseful) {
  const list = (isFirstScreenUseful ? loadFirstScreen() : Promise.resolve()).then(loadIndex);
  const costs = list.then(watch).then(loadCosts);
  // After a failure, the next call of `load` starts again.
  costs.catch(() => { loading = null; });
  return { list, costs };
}

async function loadFirstScreen() {
  const { sessions: first } = await get("/sessions", { limit: FIRST_COUNT });
  notify(new Set(first.map((/** @type {any} */ data) => addSession(readSession(data)))));
}

async function loadIndex() {
  const data = await get("/sessions/index");
  const before = sessions;
  sessions = new Map();
  for (const values of data.sessions) {
    const session = readIndexed(data, values);
    const known = before.get(session.key);
    session.cost = costs.get(session.key) ?? known?.cost ?? null;
    // A session that is unchanged keeps its object, so that its row is not drawn again.
    sessions.set(session.key, known && isSame(known, session) ? known : session);
  }
  isComplete = true;
  notify(new Set());
}

async function loadCosts() {
  const data = await get("/sessions/costs");
  costs = new Map();
  for (const [agent, byId] of Object.entries(data.costs)) {
    for (const [id, usd] of Object.entries(byId)) costs.set(makeKey(agent, id), usd);
  }
  for (const [key, session] of sessions) {
    const cost = costs.get(key) ?? null;
    if (session.cost !== cost) Object.assign(session, { cost, revision: ++revision });
  }
  hasCosts = true;
  notify(new Set());
}

function watch() {
  if (isWatching) return;
  isWatching = true;
  onLive((event) => { if ("ids" in event) scheduleRefresh(event.ids); });
  onReconnect(() => void reload());
  onMarksChange((marks) => {
    const session = sessions.get(makeKey(marks.agent, marks.id));
    if (session) replaceSession(session, readMarks({ ...marks, waiting_for: session.waitingFor }));
  });
  setInterval(refreshOpen, STATUS_REFRESH_MS);
}

/** Load sessions that have not stopped again: time alone changes their status. */
function refreshOpen() {
  const open = listSessions().filter(({ status }) => status !== "stopped");
  scheduleRefresh(open.slice(0, MAX_IDS).map(({ id }) => id));
}

/** Load everything again, because changes may have been missed. */
async function reload() {
  try {
    await loadIndex();
    await loadCosts();
  } catch {
    // The connection was lost again; the next reconnection loads.
  }
}

/**
 * Load these sessions again: at once, but not more often than every REFRESH_MS.
 *
 * @param {string[]} ids
 */
function scheduleRefresh(ids) {
  for (const id of ids) changedIds.add(id);
  if (timer || !changedIds.size) return;
  const wait = Math.max(0, refreshedAt + REFRESH_MS - performance.now());
  timer = setTimeout(refresh, wait);
}

async function refresh() {
  const ids = [...changedIds];
  changedIds.clear();
  try {
    if (ids.length > MAX_IDS) await reload();
    else await refreshSessions(ids);
  } catch {
    // The server is gone; everything is loaded again when it is back.
  }
  refreshedAt = performance.now();
  timer = 0;
  scheduleRefresh([]);
}

/** @param {string[]} ids */
async function refreshSessions(ids) {
  const data = await get("/sessions", { ids: ids.join(",") });
  const isAsked = new Set(ids);
  const changed = new Set(listSessions().filter(({ id }) => isAsked.has(id)).map(({ key }) => key));
  const present = new Set(data.sessions.map((/** @type {any} */ each) => addSession(readSession(each))));
  for (const key of changed) if (!present.has(key)) sessions.delete(key);
  notify(new Set([...changed, ...present]));
}

/** @param {Set<string>} changed */
function notify(changed) {
  for (const listener of listeners) listener(changed);
}

/**
 * @param {Session} session
 * @returns {string} Its key.
 */
function addSession(session) {
  const known = sessions.get(session.key);
  if (!known || !isSame(known, session)) sessions.set(session.key, session);
  return session.key;
}

/**
 * @param {any} data A session of `/sessions`.
 * @returns {Session}
 */
function readSession(data) {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = data.usage;
  return makeSession({
    id: data.id,
    agent: data.agent,
    title: data.title ?? "",
    project: data.project ?? "",
    model: data.model ?? "",
    status: data.status,
    startedMs: data.started_at ? Date.parse(data.started_at) : null,
    endedMs: data.ended_at ? Date.parse(data.ended_at) : null,
    units: data.units,
    toolCalls: data.tool_calls,
    tokens: input_tokens + output_tokens + cache_read_tokens + cache_write_tokens,
    subagents: data.subagents,
    isHidden: data.hidden,
    cost: data.cost_usd,
    ...readMarks(data),
  });
}

/**
 * @param {any} data The answer of `/sessions/index`.
 * @param {any[]} values
 * @returns {Session}
 */
function readIndexed(data, values) {
  const [
    id, agent, title, project, model, status, startedMs, endedMs,
    units, toolCalls, tokens, subagents, isHidden, waiting_for, marks,
  ] = values;
  return makeSession({
    id, title, status, startedMs, endedMs, units, toolCalls, tokens, subagents,
    agent: data.agents[agent],
    project: data.projects[project],
    model: data.models[model],
    isHidden: Boolean(isHidden),
    cost: null,
    ...readMarks({ ...marks, waiting_for }),
  });
}

/** @param {any} data */
function readMarks({ starred, tags, note, unread, waiting_for }) {
  return {
    isStarred: Boolean(starred),
    tags: /** @type {string[]} */ (tags ?? []),
    note: /** @type {string} */ (note ?? ""),
    isUnread: Boolean(unread),
    waitingFor: /** @type {string} */ (waiting_for ?? ""),
  };
}

/**
 * @param {Omit<Session, "key" | "haystack" | "revision">} fields
 * @returns {Session}
 */
function makeSession(fields) {
  const { id, agent, title, project, model, tags, note } = fields;
  const haystack = [title, project, agent, model, ...tags, note].join("\n").toLowerCase();
  return { ...fields, key: makeKey(agent, id), haystack, revision: ++revision };
}

/**
 * @param {string} agent
 * @param {string} id
 */
function makeKey(agent, id) {
  return `${agent}:${id}`;
}

/**
 * @param {Session} one
 * @param {Session} other
 */
function isSame(one, other) {
  const names = /** @type {(keyof Session)[]} */ (Object.keys(one));
  // Tags are in the haystack, too.
  return names.every((name) => name === "revision" || name === "tags" || one[name] === other[name]);
}
