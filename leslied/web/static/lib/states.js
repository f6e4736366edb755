/** What a page shows while it has nothing else to show. */

import { ApiError } from "./api.js";
import { h } from "./dom.js";

/**
 * @param {string} title
 * @param {...(Node | string)} details
 */
export function makeMessage(title, ...details) {
  return h("div", { class: "message-box" }, h("h1", {}, title), h("p", {}, ...details));
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
  root.replaceChildren(box);
}
