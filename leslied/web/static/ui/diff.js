/** Changed lines of a file, as the reader and the history of a file show them. */

import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";

/** @typedef {[sign: "+" | "-" | " " | "@", text: string]} DiffLine */

/** Lines of a long diff that are shown at first; diff.css hides the others. */
const SHOWN_LINES = 24;
const CLASSES = { "+": "added", "-": "removed", " ": "same", "@": "gap" };

/**
 * Draw a diff; of a long one, a button shows the rest.
 *
 * @param {DiffLine[]} lines
 * @param {string} name What screen readers call it.
 */
export function drawDiff(lines, name) {
  // A few more lines are not worth a button.
  const isLong = lines.length > SHOWN_LINES * 1.5;
  const box = h("div", { class: isLong ? "diff long" : "diff", role: "group", "aria-label": name, tabindex: "-1" }, lines.map(drawLine));
  if (!isLong) return box;
  const showAll = () => {
    box.classList.remove("long");
    button.remove();
    box.focus({ preventScroll: true });
  };
  const text = `Show ${formatCount(lines.length - SHOWN_LINES, "more line")}`;
  const button = h("button", { class: "diff-more", type: "button", onclick: showAll }, text);
  return h("div", {}, box, button);
}

/**
 * Draw how many lines are added and removed.
 *
 * @param {number} added
 * @param {number} removed
 */
export function drawDiffstat(added, removed) {
  return h(
    "span",
    { class: "diffstat" },
    added > 0 && h("span", { class: "plus" }, `+${added}`),
    removed > 0 && h("span", { class: "minus" }, `−${removed}`),
  );
}

/** @param {DiffLine} line */
function drawLine([sign, text]) {
  if (sign === "@") return h("div", { class: "diff-line gap" }, "⋯");
  const tag = sign === "+" ? "ins" : sign === "-" ? "del" : "span";
  return h(
    "div",
    { class: `diff-line ${CLASSES[sign]}` },
    h("span", { class: "diff-sign", "aria-hidden": "true" }, sign === "-" ? "−" : sign),
    h(tag, {}, text || " "),
  );
}
