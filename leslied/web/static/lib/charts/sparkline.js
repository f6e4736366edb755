/** A small line without axes that shows how an amount went. */

import { svg } from "../dom.js";

const WIDTH = 120;
const HEIGHT = 26;

/**
 * @param {number[]} values
 * @param {string} summary What a reader who cannot see it should know.
 */
export function drawSparkline(values, summary) {
  const maximum = Math.max(...values, 0) || 1;
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.map((value, index) => {
    const y = HEIGHT - 2 - (value / maximum) * (HEIGHT - 4);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  return svg(
    "svg",
    { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": summary },
    svg("polygon", { class: "area", points: `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }),
    svg("polyline", { class: "line", points: points.join(" ") }),
  );
}
