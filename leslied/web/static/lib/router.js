/** Which page an address shows; links within the page do not load it again. */

import { makeUnreachableError } from "./api.js";
import { showError } from "./states.js";

/**
 * @typedef {object} PageContext
 * @property {HTMLElement} root The element to fill.
 * @property {Record<string, string>} params The parts of the path.
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal Aborted when the user leaves the page.
 */

/** @typedef {(context: PageContext) => void | Promise<void>} Page */

/**
 * @typedef {object} Route
 * @property {RegExp} pattern
 * @property {string[]} names
 * @property {() => Promise<Page>} load
 * @property {Page} [page] Known after it was shown once.
 */

/** @type {Route[]} */
const routes = [];
/** @type {AbortController | null} */
let current = null;
/** @type {(() => void)[]} */
const changeListeners = [];
/** @type {Map<string, string>} The last address of each path, with its query. */
const lastAddresses = new Map();

/**
 * @param {string} path Such as `/s/:id`.
 * @param {() => Promise<Page>} load
 */
export function addRoute(path, load) {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? "");
  const pattern = new RegExp(`^${path.replace(/:\w+/g, "([^/]+)")}$`);
  routes.push({ pattern, names, load });
}

/** @param {() => void} listener Called when another page is shown. */
export function onPageChange(listener) {
  changeListeners.push(listener);
}

/**
 * Return the last address that was shown of a path, such as `/?agent=codex`.
 *
 * @param {string} path
 */
export function getLastAddress(path) {
  return lastAddresses.get(path) ?? path;
}

/**
 * Show another address.
 *
 * @param {string} address
 */
export function go(address) {
  lastAddresses.set(location.pathname, location.pathname + location.search);
  history.pushState(null, "", address);
  void show().then(focusMain);
}

/** Let the keyboard continue in the page, unless the page has chosen where. */
function focusMain() {
  const main = document.querySelector("main");
  if (!main?.contains(document.activeElement)) main?.focus({ preventScroll: true });
}

/**
 * Change the query of the address without showing the page again.
 *
 * @param {Record<string, string>} values Empty values are left out.
 */
export function replaceQuery(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  const text = query.toString();
  history.replaceState(null, "", `${location.pathname}${text && `?${text}`}`);
}

/** Show the page of the current address. */
export async function show() {
  current?.abort();
  current = new AbortController();
  const { signal } = current;
  const root = document.querySelector("main");
  if (!root) return;
  for (const route of routes) {
    const match = route.pattern.exec(location.pathname);
    if (!match) continue;
    const values = route.names.map((name, i) => [name, decodeURIComponent(match[i + 1] ?? "")]);
    const query = new URLSearchParams(location.search);
    const context = { root, params: Object.fromEntries(values), query, signal };
    await showRoute(route, context);
    return;
  }
}

/**
 * @param {Route} route
 * @param {PageContext} context
 */
async function showRoute(route, context) {
  const { root, signal } = context;
  try {
    // A page that is known must not wait: a key that is pressed meanwhile would be lost.
    // A module cannot be loaded when the server is gone.
    route.page ??= await route.load().catch(() => { throw makeUnreachableError(); });
    if (signal.aborted) return;
    root.replaceChildren();
    for (const listener of changeListeners) listener();
    await route.page(context);
  } catch (error) {
    if (!signal.aborted) showError(root, error);
  }
}

/** Follow links and the browser's history from now on. */
export function start() {
  addEventListener("popstate", () => void show());
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = !event.defaultPrevented && event.button === 0 &&
      !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || link.target || link.origin !== location.origin) return;
    if (link.hasAttribute("download") || !isPage(link.pathname)) return;
    if (link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.href);
  });
  void show();
}

/** @param {string} path */
function isPage(path) {
  return routes.some((route) => route.pattern.test(path));
}
