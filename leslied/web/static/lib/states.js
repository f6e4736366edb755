/** What a page shows while it has nothing else to show. */

import { ApiError } from "./api.js";
import { h } from "./dom.js";

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
 * what loads at once does not flicker.
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
  const box = makeMessage(message, hint);
  box.setAttribute("role", "alert");
  box.append(h("button", { onclick: () => location.reload() }, "Reload"));
  root.replaceChildren(box);
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function markCode(text) {
  return text.split("`").map((part, i) => i % 2 ? h("code", {}, part) : part);
}
