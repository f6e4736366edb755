/** Tables of numbers. */

import { h } from "../../lib/dom.js";

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: any) => import("../../lib/dom.js").Child} cell
 * @property {boolean} [isText] Numbers stand right, texts left.
 */

/**
 * @param {string} caption Says what the table counts.
 * @param {Column[]} columns The first one names the row.
 * @param {any[]} rows
 */
export function makeTable(caption, columns, rows) {
  const headers = columns.map(({ name, isText }) =>
    h("th", { scope: "col", class: !isText && "number" }, name));
  const lines = rows.map((row) => h("tr", {}, columns.map(({ cell, isText }, index) =>
    index
      ? h("td", { class: !isText && "number" }, cell(row))
      : h("th", { scope: "row", class: !isText && "number" }, cell(row)))));
  return h(
    "div",
    { class: "table-frame", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { class: "data-table" },
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, headers)),
      h("tbody", {}, lines),
    ),
  );
}
