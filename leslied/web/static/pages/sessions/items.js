/** The rows of the list: headings of groups, sessions, and subagents below them. */

import { getGroup, getLastActive, sort } from "./view.js";

/** @typedef {import("./store.js").Session} Session */
/** @typedef {import("./view.js").View} View */

/**
 * @typedef {object} Subagent
 * @property {string} id
 * @property {string} type
 * @property {string} task
 * @property {string} status
 * @property {string} model
 * @property {number} duration In milliseconds.
 * @property {number} toolCalls
 * @property {number} tokens
 * @property {number | null} cost
 * @property {number} depth 0 below the session.
 */

/** @typedef {Subagent[] | string} Expansion The subagents, or a text in place of them. */

/**
 * @typedef {{ key: string, height: number, revision: string } & (
 *   { kind: "group", label: string, hint: string, count: number, cost: number }
 *   | { kind: "session", session: Session, isExpanded: boolean }
 *   | { kind: "subagent", subagent: Subagent }
 *   | { kind: "note", text: string }
 * )} ListItem
 */

/** @typedef {{ group: number, session: number, subagent: number }} Heights In pixels. */

const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/**
 * @param {Session[]} sessions In their order.
 * @param {View} view
 * @param {Map<string, Expansion>} expansions By key of the session.
 * @param {Heights} heights
 * @param {(path: string) => string} shorten
 * @returns {ListItem[]}
 */
export function buildItems(sessions, view, expansions, heights, shorten) {
  const groups = groupSessions(sessions, view);
  return groups.flatMap(({ key, members }) => {
    const rows = members.flatMap((session) => buildRows(session, expansions.get(session.key), heights));
    return key === null ? rows : [buildHeading(key, members, view, heights, shorten), ...rows];
  });
}

/**
 * Return sessions as the list shows them from top to bottom.
 *
 * @param {Session[]} sessions Those of the view.
 * @param {View} view
 */
export function orderSessions(sessions, view) {
  return groupSessions(sort(sessions, view.sort), view).flatMap(({ members }) => members);
}

/**
 * @param {Session[]} sessions
 * @param {View} view
 * @returns {{ key: string | null, members: Session[] }[]} In the order of their first
 *   sessions.
 */
function groupSessions(sessions, view) {
  const getKey = KEYS[getGroup(view)];
  if (!getKey) return [{ key: null, members: sessions }];
  /** @type {Map<string, Session[]>} */
  const groups = new Map();
  for (const session of sessions) {
    const key = getKey(session, view);
    const members = groups.get(key);
    if (members) members.push(session);
    else groups.set(key, [session]);
  }
  return [...groups].map(([key, members]) => ({ key, members }));
}

/** @type {Record<string, (session: Session, view: View) => string>} */
const KEYS = {
  day: (session, view) => String(startOfDay(view.sort === "started" ? session.startedMs ?? 0 : getLastActive(session))),
  project: (session) => session.project,
  agent: (session) => session.agent,
};

/**
 * @param {string} key
 * @param {Session[]} members
 * @param {View} view
 * @param {Heights} heights
 * @param {(path: string) => string} shorten
 * @returns {ListItem}
 */
function buildHeading(key, members, view, heights, shorten) {
  const group = getGroup(view);
  const label = group === "day" ? formatDay(Number(key)) : group === "project" ? shorten(key) : key;
  const cost = members.reduce((sum, session) => sum + (session.cost ?? 0), 0);
  return {
    kind: "group",
    key: `group:${key}`,
    height: heights.group,
    revision: `${label}:${members.length}:${cost.toFixed(2)}`,
    label,
    hint: group === "project" ? key : "",
    count: members.length,
    cost,
  };
}

/**
 * @param {Session} session
 * @param {Expansion | undefined} expansion
 * @param {Heights} heights
 * @returns {ListItem[]}
 */
function buildRows(session, expansion, heights) {
  const isExpanded = expansion !== undefined;
  /** @type {ListItem} */
  const row = {
    kind: "session",
    key: session.key,
    height: heights.session,
    revision: `${session.revision}:${isExpanded}`,
    session,
    isExpanded,
  };
  if (!isExpanded) return [row];
  const below = { height: heights.subagent };
  if (typeof expansion === "string") {
    return [row, { kind: "note", key: `${session.key}/note`, revision: expansion, text: expansion, ...below }];
  }
  return [row, ...expansion.map((subagent) => /** @type {ListItem} */ ({
    kind: "subagent",
    key: `${session.key}/${subagent.id}`,
    revision: JSON.stringify(subagent),
    subagent,
    ...below,
  }))];
}

/** @param {number} time In milliseconds; 0 if unknown. */
function startOfDay(time) {
  return time ? new Date(time).setHours(0, 0, 0, 0) : 0;
}

/**
 * @param {number} day Its start.
 * @param {Date} [now]
 */
export function formatDay(day, now = new Date()) {
  if (!day) return "Unknown day";
  const today = startOfDay(now.getTime());
  if (day === today) return "Today";
  // Noon is on the day before also if the clocks change.
  if (day === startOfDay(today - 12 * 3_600_000)) return "Yesterday";
  const date = new Date(day);
  return date.getFullYear() === now.getFullYear() ? DAY.format(date) : DAY_YEAR.format(date);
}

/**
 * Put every subagent below the one that spawned it, in the order in which they started.
 *
 * @param {any[]} data The subagents of `/sessions/{id}/subagents`.
 * @returns {Subagent[]}
 */
export function readSubagents(data) {
  const ids = new Set(data.map(({ id }) => id));
  /** @type {(parent: string | null, depth: number) => Subagent[]} */
  const listBelow = (parent, depth) => data
    .filter((each) => (ids.has(each.spawned_by) ? each.spawned_by : null) === parent)
    .sort((a, b) => Date.parse(a.started_at ?? 0) - Date.parse(b.started_at ?? 0))
    .flatMap((each) => [readSubagent(each, depth), ...listBelow(each.id, depth + 1)]);
  return listBelow(null, 0);
}

/**
 * @param {any} data
 * @param {number} depth
 * @returns {Subagent}
 */
function readSubagent(data, depth) {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = data.usage;
  return {
    id: data.id,
    type: data.agent_type ?? "",
    task: data.description ?? data.title ?? "",
    status: data.status,
    model: data.model ?? "",
    duration: data.started_at && data.ended_at ? Date.parse(data.ended_at) - Date.parse(data.started_at) : 0,
    toolCalls: data.tool_calls,
    tokens: input_tokens + output_tokens + cache_read_tokens + cache_write_tokens,
    cost: data.cost_usd,
    depth,
  };
}
