/** Short notices that disappear by themselves. */

import { h } from "../lib/dom.js";
import { makeIcon } from "./icons.js";

/** @typedef {{ label: string, run: () => unknown }} ToastAction */

const SHOWN_MILLISECONDS = 3000;
/** A notice that can be answered stays until one has read it and moved there. */
const ACTION_MILLISECONDS = 10_000;

/** @type {HTMLElement | null} */
let list = null;

/**
 * Show a notice such as "Copied", and read it to users of screen readers.
 *
 * @param {string} text
 * @param {import("./icons.js").IconName} [icon]
 * @param {ToastAction} [action] What a button in the notice does.
 */
export function showToast(text, icon = "check", action) {
  const toast = h("div", { class: "toast" }, makeIcon(icon), h("span", {}, text));
  if (action) toast.append(h("button", { type: "button", onclick: () => { toast.remove(); void action.run(); } }, action.label));
  getList().replaceChildren(toast);
  setTimeout(() => toast.remove(), action ? ACTION_MILLISECONDS : SHOWN_MILLISECONDS);
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
