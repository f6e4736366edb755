/** Which sessions the list shows, and in which order; the address holds all of it. */

/** @typedef {import("./store.js").Session} Session */

/**
 * @typedef {object} View
 * @property {string} q Words that must all occur.
 * @property {string} agent
 * @property {string} project
 * @property {string} model
 * @property {string} status
 * @property {string} since Such as `today`, `7d` or `2026-01-31`.
 * @property {string} until The last day, such as `2026-01-31`; links of other pages set it.
 * @property {string} tag
 * @property {string} only `starred`, `unread` or `waiting`.
 * @property {string} hidden Not empty to show sessions with neither a prompt nor an answer, too.
 * @property {string} group
 * @property {string} sort
 */

/** @typedef {"agent" | "project" | "model" | "status" | "tag"} FacetName */
/** @typedef {Record<FacetName, Map<string, number>>} Facets Numbers of sessions by value. */
/** @typedef {(session: Session) => boolean} Test */

/** @type {FacetName[]} */
export const FACETS = ["agent", "project", "model", "status", "tag"];

/** @type {Record<string, string>} */
export const SORTS = {
  recent: "Last active",
  started: "Started",
  title: "Title",
  duration: "Duration",
  units: "Prompts",
  tools: "Tool calls",
  tokens: "Tokens",
  cost: "Cost",
};

/** @type {Record<string, string>} */
export const GROUPS = { day: "Day", project: "Project", agent: "Agent", none: "None" };

/** @type {View} */
const DEFAULTS = {
  q: "", agent: "", project: "", model: "", status: "", since: "", until: "", tag: "", only: "",
  hidden: "", group: "day", sort: "recent",
};
/** @type {(keyof View)[]} */
const FILTERS = ["q", "agent", "project", "model", "status", "since", "until", "tag", "only"];
const DAY_MS = 86_400_000;
/** Shorter words would match ids by chance. */
const MIN_ID_CHARACTERS = 4;
/** @type {Record<string, number>} */
const UNITS_MS = { h: DAY_MS / 24, d: DAY_MS, w: 7 * DAY_MS };

/**
 * @param {URLSearchParams} query
 * @returns {View} Unknown groups and orders become the default.
 */
export function readView(query) {
  const view = { ...DEFAULTS };
  for (const name of /** @type {(keyof View)[]} */ (Object.keys(view))) {
    view[name] = query.get(name) ?? view[name];
  }
  if (!Object.hasOwn(GROUPS, view.group)) view.group = DEFAULTS.group;
  if (!Object.hasOwn(SORTS, view.sort)) view.sort = DEFAULTS.sort;
  return view;
}

/**
 * @param {View} view
 * @returns {Record<string, string>} The values that differ from the default.
 */
export function toQuery(view) {
  const names = /** @type {(keyof View)[]} */ (Object.keys(view));
  return Object.fromEntries(names.filter((name) => view[name] !== DEFAULTS[name]).map((name) => [name, view[name]]));
}

/** @param {View} view */
export function isFiltered(view) {
  return FILTERS.some((name) => view[name] !== DEFAULTS[name]);
}

/**
 * @param {View} view
 * @returns {boolean} Whether the first screen of the default view is the start of this one.
 */
export function isDefault(view) {
  return !Object.keys(toQuery(view)).length;
}

/**
 * @param {View} view
 * @returns {View} The view without filters, in the same order.
 */
export function clearFilters(view) {
  const { group, sort, hidden } = view;
  return { ...DEFAULTS, group, sort, hidden };
}

/** @param {View} view @returns {string} Days group only what is sorted by time. */
export function getGroup({ group, sort }) {
  return group === "day" && sort !== "recent" && sort !== "started" ? "none" : group;
}

/**
 * Return the time that `since` means, in milliseconds; NaN if it means none.
 *
 * @param {string} text
 * @param {Date} [now]
 */
export function parseSince(text, now = new Date()) {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const word = text.trim().toLowerCase();
  if (word === "today") return today;
  if (word === "yesterday") return new Date(today - DAY_MS / 2).setHours(0, 0, 0, 0);
  const relative = /^(\d{1,5}) ?([hdw])$/.exec(word);
  if (relative) return now.getTime() - Number(relative[1]) * (UNITS_MS[relative[2] ?? ""] ?? NaN);
  return /^\d{4}-\d\d-\d\d$/.test(word) ? Date.parse(`${word}T00:00`) : NaN;
}

/**
 * Return when the day that `until` names ends, in milliseconds; NaN if it names none.
 *
 * @param {string} text
 */
function parseUntil(text) {
  const start = new Date(parseSince(text));
  return start.setDate(start.getDate() + 1);
}

/**
 * Select the sessions of a view, and count the values that would select others. A count
 * is what the list shows if that value is chosen and everything else stays.
 *
 * @param {Session[]} sessions
 * @param {View} view
 * @returns {{ selected: Session[], facets: Facets, total: number, hidden: number }}
 */
export function select(sessions, view) {
  const shown = view.hidden ? sessions : sessions.filter((session) => !session.isHidden);
  const facets = /** @type {Facets} */ (Object.fromEntries(FACETS.map((name) => [name, new Map()])));
  const tests = FACETS.map((name) => makeFacetTest(sessions, name, view[name]));
  const others = makeOtherTests(view);
  const selected = shown.filter((session) => {
    if (!others.every((test) => test(session))) return false;
    const failed = FACETS.filter((_, i) => !tests[i]?.(session));
    if (failed.length > 1) return false;
    for (const name of failed.length ? failed : FACETS) countValues(facets[name], session, name);
    return !failed.length;
  });
  return { selected, facets, total: shown.length, hidden: sessions.length - shown.length };
}

/**
 * @param {Session[]} sessions
 * @param {string} order
 * @returns {Session[]} The sessions in this order.
 */
export function sort(sessions, order) {
  const compare = COMPARISONS[order] ?? compareRecent;
  return [...sessions].sort((a, b) => compare(a, b) || compareRecent(a, b));
}

/** @param {Session} session @returns {number} In milliseconds; 0 if unknown. */
export function getLastActive({ startedMs, endedMs }) {
  return endedMs ?? startedMs ?? 0;
}

/** @param {Session} session @returns {number} In milliseconds; 0 if unknown. */
export function getDuration({ startedMs, endedMs }) {
  return startedMs !== null && endedMs !== null ? endedMs - startedMs : 0;
}

/** @param {Session} a @param {Session} b */
function compareRecent(a, b) {
  return getLastActive(b) - getLastActive(a) || (a.key < b.key ? 1 : -1);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });
/** @type {Record<string, (a: Session, b: Session) => number>} */
const COMPARISONS = {
  started: (a, b) => (b.startedMs ?? 0) - (a.startedMs ?? 0),
  title: (a, b) => Number(!a.title) - Number(!b.title) || COLLATOR.compare(a.title, b.title),
  duration: (a, b) => getDuration(b) - getDuration(a),
  units: (a, b) => b.units - a.units,
  tools: (a, b) => b.toolCalls - a.toolCalls,
  tokens: (a, b) => b.tokens - a.tokens,
  cost: (a, b) => (b.cost ?? 0) - (a.cost ?? 0),
};

/**
 * @param {View} view
 * @returns {Test[]} Tests of the filters that have no counts.
 */
function makeOtherTests(view) {
  /** @type {Test[]} */
  const tests = [];
  const words = view.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) tests.push((session) => words.every((word) => hasWord(session, word)));
  const since = view.since ? parseSince(view.since) : NaN;
  if (!Number.isNaN(since)) tests.push((session) => getLastActive(session) >= since);
  const until = view.until ? parseUntil(view.until) : NaN;
  if (!Number.isNaN(until)) tests.push(({ startedMs, endedMs }) => (startedMs ?? endedMs ?? 0) < until);
  if (view.only === "starred") tests.push(({ isStarred }) => isStarred);
  if (view.only === "unread") tests.push(({ isUnread }) => isUnread);
  if (view.only === "waiting") tests.push(({ waitingFor }) => waitingFor !== "");
  return tests;
}

/**
 * @param {Session} session
 * @param {string} word
 * @returns {boolean} Whether its texts contain the word, or its id begins with it.
 */
function hasWord({ haystack, id }, word) {
  return haystack.includes(word) || (word.length >= MIN_ID_CHARACTERS && id.startsWith(word));
}

/**
 * A value of a facet matches exactly; one that no session has, as a part of the text.
 *
 * @param {Session[]} sessions
 * @param {FacetName} name
 * @param {string} value
 * @returns {Test}
 */
function makeFacetTest(sessions, name, value) {
  if (!value) return () => true;
  if (name === "tag") return ({ tags }) => tags.includes(value);
  if (sessions.some((session) => session[name] === value)) return (session) => session[name] === value;
  const part = value.toLowerCase();
  return (session) => session[name].toLowerCase().includes(part);
}

/**
 * @param {Map<string, number>} counts
 * @param {Session} session
 * @param {FacetName} name
 */
function countValues(counts, session, name) {
  for (const value of name === "tag" ? session.tags : [session[name]]) {
    if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
}
