/** Progress bars. */

import { h } from "../lib/dom.js";

/**
 * Make a bar that shows a part of a whole, such as 3 of 7 steps.
 *
 * @param {number} value
 * @param {number} total
 * @param {string} label What it measures, for screen readers.
 */
export function makeMeter(value, total, label) {
  const bar = h("i");
  bar.style.setProperty("--part", String(total > 0 ? Math.min(1, Math.max(0, value / total)) : 0));
  return h(
    "div",
    {
      class: "meter",
      role: "meter",
      "aria-label": label,
      "aria-valuenow": value,
      "aria-valuemin": 0,
      "aria-valuemax": Math.max(total, 1),
    },
    bar,
  );
}
