/** The changed lines of one file. */

import { h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

/** @typedef {[sign: "+" | "-" | " " | "@", text: string]} DiffLine */

const SHOWN_LINES = 24;
const CLASSES = { "+": "added", "-": "removed", " ": "same", "@": "gap" };

/**
 * Draw a diff; a long one is cut, with a button that shows the rest.
 *
 * @param {DiffLine[]} lines
 * @param {string} name What screen readers call it.
 */
export function drawDiff(lines, name) {
  // A few more lines are not worth a button.
  const isCut = lines.length > SHOWN_LINES * 1.5;
  const body = h("div", { class: "diff-lines" }, (isCut ? lines.slice(0, SHOWN_LINES) : lines).map(drawLine));
  const box = h("div", { class: "files-diff", role: "group", "aria-label": name, tabindex: "0" }, body);
  if (!isCut) return box;
  const rest = lines.slice(SHOWN_LINES);
  const button = h("button", {
    class: "diff-more",
    onclick: () => {
      body.append(...rest.map(drawLine));
      button.remove();
      box.focus();
    },
  }, `Show ${formatCount(rest.length, "more line", "more lines")}`);
  return h("div", {}, box, button);
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
