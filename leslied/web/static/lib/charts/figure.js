/** A picture with its title, its legend, the same numbers as a table, and as CSV. */

import { h, svg } from "../dom.js";

/** A frame that is narrower has not been laid out yet. */
const MIN_WIDTH = 120;

/**
 * @typedef {object} Picture
 * @property {SVGElement} element
 * @property {(frame: HTMLElement) => void} [attach] Called when it is in the page.
 */

/**
 * @typedef {object} FigureParts
 * @property {string} name Of the picture, for the table and the file.
 * @property {(width: number) => Picture} draw
 * @property {Node | null} [legend]
 * @property {HTMLElement} table
 * @property {string} csv Address of the CSV.
 */

/**
 * Make a figure that is drawn again whenever its width changes.
 *
 * @param {FigureParts} parts
 */
export function makeFigure({ name, draw, legend, table, csv }) {
  const frame = h("div", { class: "chart-frame" });
  let drawnWidth = 0;
  new ResizeObserver(() => {
    const width = Math.floor(frame.clientWidth);
    if (width < MIN_WIDTH || width === drawnWidth) return;
    drawnWidth = width;
    const picture = draw(width);
    frame.replaceChildren(picture.element);
    picture.attach?.(frame);
  }).observe(frame);
  return h(
    "figure",
    { class: "chart" },
    legend,
    frame,
    h("figcaption", {}, makeDisclosure(name, table), makeCsvLink(name, csv)),
  );
}

/**
 * Make the root of a picture. It can have the focus, so that keys move between its marks.
 *
 * @param {number} width
 * @param {number} height
 * @param {string} summary What a reader who cannot see it should know.
 * @param {SVGElement[]} children
 */
export function makePicture(width, height, summary, children) {
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0, "aria-label": summary },
    children,
  );
}

/**
 * @param {[name: string, color: string][]} entries
 */
export function makeLegend(entries) {
  return h(
    "ul",
    { class: "legend" },
    entries.map(([name, color]) => h("li", {}, h("i", { class: `swatch ${color}` }), name)),
  );
}

/**
 * @param {string} name
 * @param {HTMLElement} table
 */
function makeDisclosure(name, table) {
  return h(
    "details",
    { class: "disclosure" },
    h("summary", {}, "Show the numbers", h("span", { class: "visually-hidden" }, ` of ${name}`)),
    table,
  );
}

/**
 * @param {string} name
 * @param {string} csv
 */
export function makeCsvLink(name, csv) {
  const file = `leslied-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}.csv`;
  return h("a", { class: "csv-link", href: csv, download: file, "aria-label": `${name} as CSV` }, "CSV");
}
