/** What the stats page shows, as it is in the address. */

import { toQuery } from "../../lib/api.js";

/** @typedef {"cost" | "tokens" | "messages"} Measure */
/** @typedef {"since" | "until" | "project" | "agent" | "model"} FilterName */

/** @type {FilterName[]} */
export const FILTERS = ["since", "until", "project", "agent", "model"];
/** @type {Measure[]} */
export const MEASURES = ["cost", "tokens", "messages"];
export const SPLITS = ["model", "project", "agent"];
export const PERIODS = ["", "day", "week", "month"];
export const ORDERS = ["cost", "tokens", "duration"];

/**
 * @typedef {object} State
 * @property {Record<FilterName, string>} filters
 * @property {Measure} measure
 * @property {string} split
 * @property {string} period Empty to let the server choose.
 * @property {string} order Of the top sessions.
 */

/**
 * @param {URLSearchParams} query
 * @returns {State}
 */
export function parseState(query) {
  const filters = /** @type {Record<FilterName, string>} */ (
    Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]))
  );
  return {
    filters,
    measure: choose(MEASURES, query.get("measure")),
    split: choose(SPLITS, query.get("split")),
    period: choose(PERIODS, query.get("period")),
    order: choose(ORDERS, query.get("order")),
  };
}

/**
 * @template {string} T
 * @param {T[]} values The first is the default.
 * @param {string | null} value
 * @returns {T}
 */
function choose(values, value) {
  return values.find((each) => each === value) ?? /** @type {T} */ (values[0]);
}

/**
 * Return the values of the address; defaults are left out.
 *
 * @param {State} state
 * @returns {Record<string, string>}
 */
export function toValues({ filters, measure, split, period, order }) {
  return {
    ...filters,
    measure: measure === MEASURES[0] ? "" : measure,
    split: split === SPLITS[0] ? "" : split,
    period,
    order: order === ORDERS[0] ? "" : order,
  };
}

/** @param {State} state */
export function hasFilters(state) {
  return FILTERS.some((name) => state.filters[name]);
}

/**
 * Return the address of this page with other filters.
 *
 * @param {State} state
 * @param {Partial<Record<FilterName, string>>} filters
 */
export function makeStatsHref(state, filters) {
  return `/stats${toQuery({ ...toValues(state), ...filters })}`;
}

/**
 * Return the address of the list of the counted sessions.
 *
 * @param {State} state
 * @param {Partial<Record<FilterName, string>>} [filters]
 */
export function makeSessionsHref(state, filters = {}) {
  return `/${toQuery({ ...state.filters, ...filters })}`;
}
