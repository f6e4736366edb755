/** Which panels the stats page has, in the order of the page. */

import { drawCalendar, drawHours } from "./activity.js";
import { drawGroups, drawTools } from "./groups.js";
import { drawKeyFigures } from "./key-figures.js";
import { describeRange, drawOverTime } from "./over-time.js";
import { makePanel, makeSwitch } from "./panels.js";
import { drawContextUse, drawTopSessions } from "./sessions.js";
import { MEASURES, ORDERS, PERIODS, SPLITS } from "./state.js";

const TOP_SESSIONS = 10;

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./panels.js").Panel} Panel */
/** @typedef {(path: string, params?: Record<string, string | number>) => Promise<any>} Load */
/** @typedef {(changes: Partial<State>) => void} Change */

/**
 * @param {any} days Usage by day.
 * @param {State} state
 * @param {Load} load
 * @param {Change} change
 * @returns {Panel[]}
 */
export function makePanels(days, state, load, change) {
  return [
    makePanel("Overview", "key", async () =>
      drawKeyFigures(days, await loadTimeline(state, load), loadTools(load), state), { isTitleHidden: true }),
    makeTimePanel(state, load, change),
    makePanel("Activity", "calendar", async () => drawCalendar(days.rows, state), { about: () => "Messages on each day." }),
    makePanel("Hours", "hours", async () => drawHours(await load("/stats/hours"), state), {
      about: async () => `Messages in each hour of the week, in local time (${(await load("/stats/hours")).zone}).`,
    }),
    ...(/** @type {const} */ (["project", "model", "agent"])).map((by) =>
      makePanel(`${getTitle(state)} by ${by}`, "group", async () => drawGroups(await load("/stats", { by }), by, state))),
    makePanel("Tools", "tools", async () => drawTools(await loadTools(load), state), {
      about: () => "Calls of tools, with failures. Times run from a call to its result, including the wait for permission.",
    }),
    ...makeSessionPanels(state, load, change),
  ];
}

/**
 * @param {State} state
 * @param {Load} load
 */
export function loadTimeline(state, load) {
  return load("/stats/timeline", { split: state.split, period: state.period });
}

/** @param {Load} load */
function loadTools(load) {
  return load("/stats", { by: "tool" });
}

/**
 * @param {State} state
 * @param {Load} load
 * @param {Change} change
 */
function makeTimePanel(state, load, change) {
  return makePanel(`${getTitle(state)} over time`, "time", async () => drawOverTime(await loadTimeline(state, load), state), {
    about: async () => describeRange(await loadTimeline(state, load)),
    tools: [
      makeSwitch("Measure", MEASURES, state.measure, (measure) => change({ measure })),
      makeSwitch("Split by", SPLITS, state.split, (split) => change({ split })),
      makeSwitch("Period", PERIODS, state.period, (period) => change({ period }), { "": "auto" }),
    ],
  });
}

/**
 * @param {State} state
 * @param {Load} load
 * @param {Change} change
 */
function makeSessionPanels(state, load, change) {
  const { order } = state;
  return [
    makePanel("Context windows", "context", async () => drawContextUse(await load("/stats/context"), state), {
      about: () => "Sessions by their largest request, in percent of the model’s window. " +
        "Subagents have windows of their own and are not counted.",
    }),
    makePanel("Top sessions", "sessions", async () =>
      drawTopSessions(await load("/stats", { by: "session", order, limit: TOP_SESSIONS }), state), {
      tools: [makeSwitch("Sort by", ORDERS, order, (next) => change({ order: next }))],
      about: () => "Subagents included. The duration is from the first to the last message.",
    }),
  ];
}

/**
 * Return the measure as the first word of a title.
 *
 * @param {State} state
 */
function getTitle({ measure }) {
  return measure.charAt(0).toUpperCase() + measure.slice(1);
}
