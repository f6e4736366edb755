/** The stats page: cost, tokens, activity, tools and context windows. */

import { ApiError, get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { addShortcut } from "../lib/keys.js";
import { onLive } from "../lib/live.js";
import { replaceQuery } from "../lib/router.js";
import { makeMessage, showError } from "../lib/states.js";
import { drawFilters } from "./stats/filters.js";
import { drawPriceNote } from "./stats/key-figures.js";
import { loadTimeline, makePanels } from "./stats/layout.js";
import { MEASURES, hasFilters, parseState, toValues } from "./stats/state.js";

const REFRESH_MS = 15_000;
/** Requests at the same time; more would delay the panels at the top of the page. */
const MAX_REQUESTS = 2;

/** @typedef {import("./stats/state.js").State} State */
/** @typedef {import("./stats/layout.js").Load} Load */
/** @typedef {import("./stats/layout.js").Change} Change */

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, query, signal }) {
  document.title = "Stats · leslied";
  const state = parseState(query);
  const bar = h("div", {});
  const content = h("div", { class: "stats-content" });
  root.replaceChildren(h("div", { class: "page stats" }, h("header", { class: "page-header" }, h("h1", {}, "Stats")), bar, content));
  /** @type {AbortController | null} */
  let loading = null;

  const draw = async () => {
    loading?.abort();
    loading = new AbortController();
    const own = AbortSignal.any([signal, loading.signal]);
    const load = makeLoader(state, own);
    try {
      await drawContent(content, state, load, change, own);
    } catch (error) {
      showError(content, error);
    }
  };
  /** @type {Change} */
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
  drawBar().catch((error) => {
    // Without a store, the content says so.
    if (!(error instanceof ApiError && error.isTemporary)) showError(bar, error);
  });
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
  const queue = makeQueue(MAX_REQUESTS);
  return (path, params = {}) => {
    const key = JSON.stringify([path, params]);
    const answer = answers.get(key) ?? queue(() => get(path, { ...state.filters, ...params }, signal));
    // A panel that waits for the answer shows the error.
    answer.catch(() => undefined);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * Return a function that starts tasks in order, but only so many at the same time.
 *
 * @param {number} maximum
 * @returns {(task: () => Promise<any>) => Promise<any>}
 */
function makeQueue(maximum) {
  /** @type {(() => void)[]} */
  const waiting = [];
  let running = 0;
  return async (task) => {
    if (running >= maximum) await new Promise((resolve) => waiting.push(() => resolve(undefined)));
    running += 1;
    try {
      return await task();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}

/**
 * Draw everything below the filters. The first time, each panel appears when it is
 * ready; later, all change at once.
 *
 * @param {HTMLElement} content
 * @param {State} state
 * @param {Load} load
 * @param {Change} change
 * @param {AbortSignal} signal
 */
async function drawContent(content, state, load, change, signal) {
  const [days] = await Promise.all([load("/stats", { by: "day" }), loadTimeline(state, load)]);
  if (!days.rows.length) {
    content.replaceChildren(drawEmpty(state));
    return;
  }
  const panels = makePanels(days, state, load, change);
  const done = Promise.all(panels.map((panel) => panel.done));
  if (content.querySelector(".panel")) await done;
  if (signal.aborted) return;
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
  return makeMessage("Nothing to count yet", "Use an agent, then run `leslied sync`");
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
