/** Texts of messages: clamped, cut, or as HTML from the server. */

import { get } from "../lib/api.js";
import { h, parseServerHtml } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { showToast } from "../ui/toast.js";

const CLAMP_LINES = 14;
const CLAMP_CHARACTERS = 1400;

/**
 * Draw HTML that the server has made of Markdown.
 *
 * @param {string} html
 * @param {string} [className]
 */
export function drawHtml(html, className = "") {
  const box = h("div", { class: `prose ${className}` });
  box.append(parseServerHtml(html));
  for (const link of box.querySelectorAll("a")) link.target = "_blank";
  for (const area of box.querySelectorAll("pre, table")) area.setAttribute("tabindex", "0");
  return box;
}

/**
 * Draw a prompt, clamped if it is long.
 *
 * @param {string} text
 */
export function drawPrompt(text) {
  return clamp(h("div", { class: "prompt-text" }, text), text);
}

/**
 * Show only the beginning of a long text until the reader asks for all of it.
 *
 * @param {HTMLElement} body
 * @param {string} text What it shows.
 */
export function clamp(body, text) {
  const lines = text.split("\n").length;
  if (lines <= CLAMP_LINES && text.length <= CLAMP_CHARACTERS) return body;
  body.classList.add("clamped");
  const name = lines > CLAMP_LINES ? formatCount(lines, "line") : "text";
  const button = h("button", { class: "show-all", type: "button", "aria-expanded": "false" }, `Show all ${name}`);
  button.addEventListener("click", () => {
    const isClamped = body.classList.toggle("clamped");
    button.textContent = isClamped ? `Show all ${name}` : "Show less";
    button.setAttribute("aria-expanded", String(!isClamped));
  });
  return h("div", {}, body, button);
}

/**
 * Draw an output of which the rest is loaded on request.
 *
 * @param {object} options
 * @param {string} options.text
 * @param {boolean} options.isCut
 * @param {string} options.session
 * @param {string | null} options.entry The entry that has the whole text.
 * @param {string} options.label
 */
export function drawOutput({ text, isCut, session, entry, label }) {
  const pre = h("pre", { class: "output", tabindex: "0", "aria-label": label, role: "group" }, text);
  if (!isCut || !entry) return pre;
  const button = h("button", { class: "show-all", type: "button" }, "Show all");
  button.addEventListener("click", () => void showAll(pre, button, session, entry));
  return h("div", {}, pre, button);
}

/**
 * @param {HTMLElement} pre
 * @param {HTMLElement} button
 * @param {string} session
 * @param {string} entry
 */
async function showAll(pre, button, session, entry) {
  try {
    const data = await get(`/sessions/${encodeURIComponent(session)}/entries/${entry}`);
    pre.textContent = data.text;
    button.replaceWith(data.is_cut ? h("p", { class: "faint" }, "The rest is too long to show here.") : "");
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), "close");
  }
}
