/** A grid of cells whose colour shows an amount. */

import { h, svg } from "../dom.js";
import { makePicture } from "./figure.js";
import { inspect } from "./inspect.js";

export const LEVELS = 5;
const TOP = 22;

/**
 * @typedef {object} Cell
 * @property {number} row
 * @property {number} column
 * @property {number} value
 * @property {string} title
 * @property {{ name: string, value: string }[]} values
 * @property {string} [href]
 */

/**
 * @typedef {object} HeatMap
 * @property {string} summary
 * @property {Cell[]} cells In the order of the keyboard.
 * @property {string[]} rowLabels Empty texts are not drawn.
 * @property {{ column: number, text: string }[]} columnLabels
 * @property {number} columns
 * @property {number} left Pixels for the labels of rows.
 * @property {number} maxCell Largest width of a cell, in pixels.
 * @property {number} rowHeight 0 for squares.
 * @property {number} step Marks that the keys up and down pass.
 */

/**
 * @param {HeatMap} map
 * @param {number} width
 * @returns {import("./figure.js").Picture}
 */
export function drawHeatMap(map, width) {
  const size = Math.min((width - map.left) / map.columns, map.maxCell);
  const rowHeight = map.rowHeight || size;
  const maximum = Math.max(...map.cells.map(({ value }) => value), 0);
  const marks = map.cells.map((cell) => ({
    element: drawCell(map, cell, size, rowHeight, maximum),
    title: cell.title,
    values: cell.values,
    href: cell.href,
  }));
  const height = Math.ceil(TOP + rowHeight * map.rowLabels.length + 2);
  const rows = map.rowLabels.map((text, row) => text && svg(
    "text",
    { x: map.left - 8, y: TOP + (row + 0.5) * rowHeight + 4, "text-anchor": "end" },
    text,
  ));
  const columns = map.columnLabels.map(({ column, text }) =>
    svg("text", { x: map.left + column * size + 1, y: TOP - 8 }, text));
  const element = makePicture(width, height, map.summary, [
    svg("g", { class: "axis" }, rows, columns),
    svg("g", {}, marks.map((mark) => mark.element)),
  ]);
  return { element, attach: (frame) => inspect(frame, element, marks, map.step) };
}

/**
 * @param {HeatMap} map
 * @param {Cell} cell
 * @param {number} size
 * @param {number} rowHeight
 * @param {number} maximum
 */
function drawCell(map, cell, size, rowHeight, maximum) {
  const gap = size > 8 ? 2 : 1;
  return svg("rect", {
    "data-mark": "",
    class: `cell heat-${getLevel(cell.value, maximum)}${cell.href ? " link" : ""}`,
    x: map.left + cell.column * size,
    y: TOP + cell.row * rowHeight,
    width: Math.max(size - gap, 1),
    height: Math.max(rowHeight - gap, 1),
    rx: Math.min(size / 5, 3),
  });
}

/**
 * Return a level from 0, for nothing, to 4. The square root shows differences between
 * quiet days although one day was very busy.
 *
 * @param {number} value
 * @param {number} maximum
 */
export function getLevel(value, maximum) {
  return value > 0 ? Math.min(Math.ceil(Math.sqrt(value / maximum) * (LEVELS - 1)), LEVELS - 1) : 0;
}

/** @param {string} most The largest amount. */
export function makeHeatLegend(most) {
  const steps = Array.from({ length: LEVELS }, (_, level) => h("i", { class: `swatch heat-${level}` }));
  return h("p", { class: "heat-legend" }, "none ", steps, ` ${most}`);
}
