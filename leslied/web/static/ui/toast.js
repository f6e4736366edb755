/** Short notices that disappear by themselves. */

import { h } from "../lib/dom.js";
import { makeIcon } from "./icons.js";

const SHOWN_MILLISECONDS = 3000;

/** @type {HTMLElement | null} */
let list = null;

/**
 * Show a notice such as "Copied", and read it to users of screen readers.
 *
 * @param {string} text
 * @param {import("./icons.js").IconName} [icon]
 */
export function showToast(text, icon = "check") {
  const toast = h("div", { class: "toast" }, makeIcon(icon), h("span", {}, text));
  getList().replaceChildren(toast);
  setTimeout(() => toast.remove(), SHOWN_MILLISECONDS);
}

/** Add the list to the page; screen readers only announce changes of what exists. */
export function start() {
  getList();
}

function getList() {
  if (!list) {
    list = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(list);
  }
  return list;
}
