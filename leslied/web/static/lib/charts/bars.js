/** Horizontal bars with a name and a value, the largest first. */

import { svg } from "../dom.js";
import { makePicture } from "./figure.js";
import { inspect } from "./inspect.js";

const ROW_HEIGHT = 36;
const BAR_HEIGHT = 8;
const NAME_CHARACTER_WIDTH = 7.4;

/**
 * @typedef {object} BarRow
 * @property {string} name
 * @property {string} title Name in the box of values.
 * @property {number} value
 * @property {number} [part] The part of the value that is drawn in `partColor`.
 * @property {string} label Text of the value.
 * @property {{ name: string, value: string }[]} values
 * @property {string} [href]
 */

/**
 * @typedef {object} Bars
 * @property {string} summary
 * @property {BarRow[]} rows
 * @property {string} color
 * @property {string} [partColor]
 */

/**
 * @param {Bars} chart
 * @param {number} width
 * @returns {import("./figure.js").Picture}
 */
export function drawBars(chart, width) {
  const maximum = Math.max(...chart.rows.map(({ value }) => value), 0) || 1;
  const marks = chart.rows.map((row, index) => ({
    element: drawRow(chart, row, index, width, maximum),
    title: row.title,
    values: row.values,
    href: row.href,
  }));
  const height = Math.max(chart.rows.length * ROW_HEIGHT, ROW_HEIGHT);
  const element = makePicture(width, height, chart.summary, marks.map((mark) => mark.element));
  return { element, attach: (frame) => inspect(frame, element, marks) };
}

/**
 * @param {Bars} chart
 * @param {BarRow} row
 * @param {number} index
 * @param {number} width
 * @param {number} maximum
 */
function drawRow(chart, row, index, width, maximum) {
  const y = index * ROW_HEIGHT;
  const length = (width * row.value) / maximum;
  const part = row.part && row.value ? (length * row.part) / row.value : 0;
  const maxCharacters = Math.max(Math.floor((width - (row.label.length + 2) * NAME_CHARACTER_WIDTH) / NAME_CHARACTER_WIDTH), 4);
  const bar = { y: y + 20, height: BAR_HEIGHT };
  return svg(
    "g",
    { "data-mark": "", class: row.href ? "bar link" : "bar" },
    svg("rect", { class: "hit", x: 0, y, width, height: ROW_HEIGHT }),
    svg("text", { class: "bar-name", x: 0, y: y + 14 }, shorten(row.name, maxCharacters)),
    svg("text", { class: "bar-value", x: width, y: y + 14, "text-anchor": "end" }, row.label),
    svg("rect", { class: "track", x: 0, width, ...bar }),
    length > 0 && svg("rect", { class: chart.color, x: 0, width: Math.max(length, 1), ...bar }),
    part > 0 && svg("rect", { class: chart.partColor, x: 0, width: Math.max(part, 1), ...bar }),
  );
}

/**
 * @param {string} text
 * @param {number} characters
 */
function shorten(text, characters) {
  const letters = [...text];
  return letters.length > characters ? `${letters.slice(0, characters - 1).join("")}…` : text;
}
