/** The trees of threads: forks below their parents, by project. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { formatCount, formatWhen } from "../../lib/format.js";
import { makeMeter } from "../../ui/meter.js";
import { nameFolders } from "../files/paths.js";

/** @typedef {{ percent: number | null, done: number, open: number, blocked: number }} Progress */

/**
 * @typedef {object} Thread
 * @property {string} id
 * @property {string} title
 * @property {string} status
 * @property {string} objective
 * @property {string} created_at
 * @property {string} updated_at
 * @property {string} session_id
 * @property {string} agent
 * @property {string[]} references_to
 * @property {number} subagents
 * @property {Record<string, number>} assets
 * @property {Progress | null} progress
 * @property {Thread[]} children
 */

/** @typedef {{ project: string, base: string, threads: Thread[] }} ProjectTree */
/** @typedef {{ projects: ProjectTree[], total: number }} Overview */
/** @typedef {{ q: string, thread: string, asset: string }} State */

/** @param {Partial<State>} query */
export function makeAddress(query) {
  return `/threads${toQuery(query)}`;
}

/**
 * Find a thread with its parent and its project.
 *
 * @param {Overview} overview
 * @param {string} id
 * @returns {{ thread: Thread, parent: Thread | null, project: ProjectTree } | null}
 */
export function findThread(overview, id) {
  for (const project of overview.projects) {
    for (const [thread, parent] of walk(project.threads, null)) {
      if (thread.id === id) return { thread, parent, project };
    }
  }
  return null;
}

/**
 * @param {Thread[]} threads
 * @param {Thread | null} parent
 * @returns {Generator<[Thread, Thread | null]>}
 */
function* walk(threads, parent) {
  for (const thread of threads) {
    yield [thread, parent];
    yield* walk(thread.children, thread);
  }
}

/**
 * @param {Overview} overview
 * @param {State} state
 */
export function drawTrees(overview, state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const names = nameFolders([...new Set(overview.projects.map(({ project }) => project))]);
  const sections = overview.projects.map((project) => drawProject(project, names, words, state));
  if (sections.every((section) => section === null)) return h("p", { class: "soft" }, "No thread matches.");
  const fragment = document.createDocumentFragment();
  fragment.append(...sections.filter((section) => section !== null));
  return fragment;
}

/**
 * @param {ProjectTree} project
 * @param {Map<string, string>} names
 * @param {string[]} words
 * @param {State} state
 */
function drawProject(project, names, words, state) {
  const items = project.threads.map((thread) => drawThread(thread, project.project, words, state)).filter(Boolean);
  if (!items.length) return null;
  return h(
    "section",
    {},
    h("h2", { title: project.project }, names.get(project.project) || "No project"),
    h("ul", { class: "thread-tree" }, items),
  );
}

/**
 * @param {Thread} thread
 * @param {string} project
 * @param {string[]} words
 * @param {State} state
 * @returns {HTMLElement | null}
 */
function drawThread(thread, project, words, state) {
  const children = thread.children.map((child) => drawThread(child, project, words, state)).filter(Boolean);
  const text = `${thread.title} ${thread.objective} ${thread.id} ${project}`.toLowerCase();
  if (!children.length && !words.every((word) => text.includes(word))) return null;
  const isCurrent = thread.id === state.thread;
  return h(
    "li",
    {},
    h(
      "a",
      { href: makeAddress({ q: state.q, thread: thread.id }), "aria-current": isCurrent && "true" },
      h("span", { class: thread.status === "active" ? "dot live" : "dot", role: "img", "aria-label": thread.status }),
      h("span", { class: "thread-title" }, thread.title || thread.id),
      h("span", { class: "thread-facts" }, formatWhen(thread.created_at), formatAssets(thread.assets)),
      thread.progress && drawProgress(thread.progress),
    ),
    children.length > 0 && h("ul", {}, children),
  );
}

/**
 * @param {Record<string, number>} assets
 * @returns {string}
 */
function formatAssets(assets) {
  return Object.entries(assets).map(([type, count]) => {
    const noun = type === "discuss" ? "discussion" : type;
    return ` · ${count === 1 ? noun : formatCount(count, noun, noun === "learnings" ? noun : `${noun}s`)}`;
  }).join("");
}

/** @param {Progress} progress */
export function drawProgress({ percent, done, open, blocked }) {
  const total = done + open + blocked;
  const isCounted = total > 0;
  const text = isCounted ? `${done} of ${formatCount(total, "step")} done` : `${percent ?? 0} % done`;
  const meter = isCounted ? makeMeter(done, total, text) : makeMeter(percent ?? 0, 100, text);
  return h("span", { class: "thread-progress" }, meter, h("span", {}, text, blocked > 0 && `, ${blocked} blocked`));
}
