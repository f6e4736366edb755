/** The stats page: cost, tokens, activity, tools and context windows. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { addShortcut } from "../lib/keys.js";
import { onLive } from "../lib/live.js";
import { replaceQuery } from "../lib/router.js";
import { makeMessage, showError } from "../lib/states.js";
import { drawCalendar, drawHours } from "./stats/activity.js";
import { drawFilters } from "./stats/filters.js";
import { drawGroups, drawTools } from "./stats/groups.js";
import { drawKeyFigures, drawPriceNote } from "./stats/key-figures.js";
import { describeRange, drawOverTime } from "./stats/over-time.js";
import { makePanel, makeSwitch } from "./stats/panels.js";
import { drawContextUse, drawTopSessions } from "./stats/sessions.js";
import { MEASURES, ORDERS, PERIODS, SPLITS, hasFilters, parseState, toValues } from "./stats/state.js";

const REFRESH_MS = 15_000;
const TOP_SESSIONS = 10;

/** @typedef {import("./stats/state.js").State} State */
/** @typedef {(path: string, params?: Record<string, string | number>) => Promise<any>} Load */

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, query, signal }) {
  document.title = "Stats · leslied";
  const state = parseState(query);
  const bar = h("div", {});
  const content = h("div", { class: "stats-content" });
  root.replaceChildren(h("section", { class: "stats" }, h("h1", {}, "Stats"), bar, content));
  /** @type {AbortController | null} */
  let loading = null;

  const draw = async () => {
    loading?.abort();
    loading = new AbortController();
    const own = AbortSignal.any([signal, loading.signal]);
    const load = makeLoader(state, own);
    try {
      await drawContent(content, state, load, change, () => own.aborted);
    } catch (error) {
      showError(content, error);
    }
  };
  /** @param {Partial<State>} changes */
  const change = (changes) => {
    Object.assign(state, changes);
    replaceQuery(toValues(state));
    void drawBar();
    void draw();
  };
  const drawBar = async () => {
    const choices = await get("/stats/choices", {}, signal);
    const focused = [...bar.querySelectorAll("select, input")].indexOf(document.activeElement ?? bar);
    bar.replaceChildren(drawFilters(state, choices, (filters) =>
      change({ filters: { ...state.filters, ...filters } })));
    const control = bar.querySelectorAll("select, input")[focused];
    if (control instanceof HTMLElement) control.focus();
  };

  addShortcut("m", "Show cost, tokens or messages", () => change({ measure: getNext(MEASURES, state.measure) }), signal);
  refreshWhenLive(content, draw, signal);
  drawBar().catch((error) => showError(bar, error));
  await draw();
}

/**
 * Ask each question once, with the filters of the page.
 *
 * @param {State} state
 * @param {AbortSignal} signal
 * @returns {Load}
 */
function makeLoader(state, signal) {
  /** @type {Map<string, Promise<any>>} */
  const answers = new Map();
  return (path, params = {}) => {
    const key = JSON.stringify([path, params]);
    const answer = answers.get(key) ?? get(path, { ...state.filters, ...params }, signal);
    // A panel that waits for the answer shows the error.
    answer.catch(() => undefined);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * @param {HTMLElement} content
 * @param {State} state
 * @param {Load} load
 * @param {(changes: Partial<State>) => void} change
 * @param {() => boolean} isAborted
 */
async function drawContent(content, state, load, change, isAborted) {
  const questions = {
    timeline: () => load("/stats/timeline", { split: state.split, period: state.period }),
    tools: () => load("/stats", { by: "tool" }),
  };
  void questions.timeline();
  const days = await load("/stats", { by: "day" });
  if (!days.rows.length) {
    content.replaceChildren(drawEmpty(state));
    return;
  }
  const measure = state.measure.charAt(0).toUpperCase() + state.measure.slice(1);
  const panels = [
    makePanel("Overview", "key", async () => drawKeyFigures(days, await questions.timeline(), await questions.tools(), state), { isTitleHidden: true }),
    makePanel(`${measure} over time`, "time", async () => drawOverTime(await questions.timeline(), state), {
      about: questions.timeline().then(describeRange),
      tools: [
        makeSwitch("Measure", MEASURES, state.measure, (measure) => change({ measure })),
        makeSwitch("Split by", SPLITS, state.split, (split) => change({ split })),
        makeSwitch("Period", PERIODS, state.period, (period) => change({ period }), { "": "auto" }),
      ],
    }),
    makePanel("Activity", "calendar", async () => drawCalendar(days.rows, state), { about: "Messages on each day." }),
    makePanel("Hours", "hours", async () => drawHours(await load("/stats/hours"), state), {
      about: load("/stats/hours").then(({ zone }) => `Messages in each hour of the week, in local time (${zone}).`),
    }),
    ...(/** @type {const} */ (["project", "model", "agent"])).map((by) =>
      makePanel(`${measure} by ${by}`, "group", async () => drawGroups(await load("/stats", { by }), by, state))),
    makePanel("Tools", "tools", async () => drawTools(await questions.tools(), state), {
      about: "Calls of tools, with failures. The time is from the call to its result.",
    }),
    makePanel("Context windows", "context", async () => drawContextUse(await load("/stats/context"), state), {
      about: "Sessions by their largest request, in percent of the model’s window. Subagents have windows of their own and are not counted.",
    }),
    makePanel("Top sessions", "sessions", async () => drawTopSessions(await load("/stats", { by: "session", order: state.order, limit: TOP_SESSIONS }), state), {
      tools: [makeSwitch("Sort by", ORDERS, state.order, (order) => change({ order }))],
      about: "Subagents included. The duration is from the first to the last message.",
    }),
  ];
  const done = Promise.all(panels.map((panel) => panel.done));
  // The first time, each panel appears when it is ready; later, all change at once.
  if (content.querySelector(".panel")) await done;
  if (isAborted()) return;
  const pressed = document.activeElement?.getAttribute("data-switch");
  content.replaceChildren(...panels.map(({ element }) => element), drawPriceNote(days));
  const button = pressed && content.querySelector(`[data-switch="${pressed}"]`);
  if (button instanceof HTMLElement) button.focus();
  await done;
}

/** @param {State} state */
function drawEmpty(state) {
  if (hasFilters(state)) {
    return makeMessage("No message matches these filters", h("a", { href: "/stats" }, "Show all messages"));
  }
  return makeMessage("Nothing to count yet", "Use an agent, then run: leslied sync");
}

/**
 * Draw again when sessions change, but not too often, and not while somebody reads the
 * values of a picture or a table.
 *
 * @param {HTMLElement} content
 * @param {() => Promise<void>} draw
 * @param {AbortSignal} signal
 */
function refreshWhenLive(content, draw, signal) {
  let timer = 0;
  onLive((event) => {
    if (event.type !== "sessions" || timer) return;
    timer = setTimeout(() => {
      timer = 0;
      const isRead = content.contains(document.activeElement) || content.querySelector("details[open]");
      if (!isRead && !document.hidden) void draw();
    }, REFRESH_MS);
  }, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

/**
 * @template T
 * @param {T[]} values
 * @param {T} value
 * @returns {T}
 */
function getNext(values, value) {
  return /** @type {T} */ (values[(values.indexOf(value) + 1) % values.length]);
}
