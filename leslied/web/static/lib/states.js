/** What a page shows while it has nothing else to show. */

import { ApiError } from "./api.js";
import { h } from "./dom.js";
import { onReconnect } from "./live.js";

/**
 * Commands that hints name, and the page that shows the same.
 *
 * @type {[command: RegExp, path: string, name: string][]}
 */
const PAGES = [
  [/leslied list\b/, "/", "Show all sessions"],
  [/leslied files\b/, "/files", "Show all changed files"],
  [/leslied (assets|threads)\b/, "/threads", "Show all threads"],
];

/**
 * @param {string} title
 * @param {...(Node | string)} details Text in backticks is shown as code.
 */
export function makeMessage(title, ...details) {
  return h(
    "div",
    { class: "message-box" },
    h("h1", {}, title),
    h("p", {}, details.flatMap((detail) => typeof detail === "string" ? markCode(detail) : [detail])),
  );
}

/**
 * Make the outline of content that is being loaded. It appears after a moment, so that
 * content that loads at once does not flicker.
 *
 * @param {number} [lines]
 */
export function makeSkeleton(lines = 9) {
  return h(
    "div",
    { class: "skeleton", role: "status" },
    h("span", { class: "visually-hidden" }, "Loading"),
    Array.from({ length: lines }, () => h("i")),
  );
}

/**
 * Show an error in place of the page's content.
 *
 * @param {HTMLElement} root
 * @param {unknown} error
 */
export function showError(root, error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const hint = error instanceof ApiError ? error.hint : "Reload the page.";
  const message = error instanceof Error ? error.message : String(error);
  const box = makeMessage(message, drawHint(hint));
  box.setAttribute("role", "alert");
  if (error instanceof ApiError && error.isTemporary) {
    box.append(h("p", { class: "small" }, "The page continues by itself as soon as there is something to show."));
    onReconnect(() => { if (box.isConnected) location.reload(); });
  }
  box.append(h("button", { onclick: () => location.reload() }, "Reload"));
  root.replaceChildren(box);
}

/**
 * Draw what to do: a link, if the page can show what the hint's command would.
 *
 * @param {string} hint
 */
function drawHint(hint) {
  const page = PAGES.find(([command]) => command.test(hint));
  if (page) return h("a", { href: page[1] }, page[2]);
  // Other hints end with what to type.
  return hint.replace(/: (leslied [^`]+)$/, ": `$1`");
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function markCode(text) {
  return text.split("`").map((part, i) => i % 2 ? h("code", {}, part) : part);
}
