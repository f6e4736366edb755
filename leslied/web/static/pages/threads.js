/** Threads as trees beside the thread that is selected, with its plans and notes. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { addShortcut } from "../lib/keys.js";
import { onLive, onReconnect } from "../lib/live.js";
import { go, replaceQuery } from "../lib/router.js";
import { makeMessage, makeSkeleton } from "../lib/states.js";
import { showThread } from "./threads/detail.js";
import { drawTrees, makeAddress } from "./threads/tree.js";

/** @typedef {import("./threads/tree.js").Overview} Overview */

const REFRESH_MILLISECONDS = 1000;

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, query, signal }) {
  document.title = "Threads · leslied";
  root.replaceChildren(makeSkeleton());
  /** @type {Overview} */
  let overview = await get("/threads", {}, signal);
  if (!overview.total) {
    root.replaceChildren(makeMessage("No threads yet", "When an agent finishes a turn, its transcript, plan and notes are listed here. To read older sessions, run `leslied sync --stop-all`."));
    return;
  }
  const state = { q: query.get("q") ?? "", thread: query.get("thread") ?? "", asset: query.get("asset") ?? "" };
  const input = h("input", {
    type: "search",
    "aria-label": "Filter threads by title or project",
    placeholder: "Filter threads",
    autocomplete: "off",
    value: state.q,
    oninput: () => {
      state.q = input.value;
      replaceQuery(state);
      draw();
    },
  });
  // The title of a selected thread is the heading of the page.
  const title = h(state.thread ? "p" : "h1", { class: "threads-title" }, formatCount(overview.total, "thread"));
  const trees = h("div", { class: "thread-trees" });
  const side = h("nav", { class: "threads-side", "aria-label": "Threads" }, title, input, trees);
  const detail = h("section", { class: "thread-detail", "aria-label": "Thread" });
  const draw = () => trees.replaceChildren(drawTrees(overview, state));
  root.replaceChildren(h("div", { class: state.thread ? "threads-page with-thread" : "threads-page" }, side, detail));
  draw();
  addKeys({ input, trees, signal, hasThread: Boolean(state.thread) });
  refreshWhenLive(signal, async () => {
    overview = await get("/threads", {}, signal);
    draw();
  });
  trees.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  await showThread(detail, overview, state, signal);
}

/** @param {{ input: HTMLInputElement, trees: HTMLElement, signal: AbortSignal, hasThread: boolean }} parts */
function addKeys({ input, trees, signal, hasThread }) {
  /** @param {number} step */
  const move = (step) => {
    const links = /** @type {HTMLAnchorElement[]} */ ([...trees.querySelectorAll("a")]);
    const focused = links.findIndex((link) => link === document.activeElement);
    const start = focused >= 0 ? focused : links.findIndex((link) => link.hasAttribute("aria-current"));
    const next = start < 0 ? 0 : Math.min(Math.max(start + step, 0), links.length - 1);
    links[next]?.focus();
    links[next]?.scrollIntoView({ block: "nearest" });
  };
  addShortcut("/", "Filter threads", () => input.focus(), signal);
  addShortcut("j", "Next thread", () => move(1), signal);
  addShortcut("k", "Previous thread", () => move(-1), signal);
  addShortcut("Escape", "Leave the filter", () => input.blur(), signal);
  if (hasThread) addShortcut("u", "Up to all threads", () => go(makeAddress({})), signal);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    trees.querySelector("a")?.focus();
  });
}

/**
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} refresh
 */
function refreshWhenLive(signal, refresh) {
  let timer = 0;
  const refreshSoon = () => {
    clearTimeout(timer);
    // If the server is gone, the page stays as it is; the bar at the top says so.
    timer = window.setTimeout(() => { if (!signal.aborted) refresh().catch(() => undefined); }, REFRESH_MILLISECONDS);
  };
  onLive((event) => { if (event.type === "sessions") refreshSoon(); }, signal);
  onReconnect(refreshSoon, signal);
}

