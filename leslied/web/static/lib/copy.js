/** Copying to the clipboard. */

import { makeIcon } from "../ui/icons.js";
import { showToast } from "../ui/toast.js";
import { h } from "./dom.js";

/**
 * Copy a text, and say so.
 *
 * @param {string} text
 * @param {string} [what] What the notice names, such as "Link".
 */
export async function copyText(text, what = "Text") {
  try {
    await navigator.clipboard.writeText(text);
    showToast(`${what} copied`);
  } catch {
    showToast("The browser does not allow copying here. Select the text instead.", "close");
  }
}

/**
 * Make a button that copies a text.
 *
 * @param {string | (() => string | Promise<string>)} text The text, or a function that makes it.
 * @param {string} what What is copied, such as "Command".
 */
export function makeCopyButton(text, what) {
  const label = `Copy ${what.toLowerCase()}`;
  const copy = async () => copyText(typeof text === "string" ? text : await text(), what);
  return h(
    "button",
    { class: "icon-button", type: "button", "aria-label": label, title: label, onclick: () => void copy() },
    makeIcon("copy"),
  );
}
