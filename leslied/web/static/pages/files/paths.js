/** Paths of files as people read them, and addresses of the files page. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";

/**
 * @param {{ path?: string, project?: string, folder?: string, q?: string, sort?: string }} query
 * @returns {string}
 */
export function makeAddress(query) {
  return `/files${toQuery(query)}`;
}

/** @param {string} path */
export function getBaseName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/**
 * Draw a path with its last part in front of the eye; it may break after each slash.
 *
 * @param {string} path
 */
export function drawPath(path) {
  const name = getBaseName(path);
  const folder = path.slice(0, path.length - name.length);
  const parts = folder.split("/").slice(0, -1);
  return h(
    "span",
    { class: "file-path" },
    parts.length > 0 && h(
      "span",
      { class: "file-folder" },
      parts.flatMap((part) => [`${part}/`, h("wbr")]),
    ),
    h("span", { class: "file-name" }, name),
  );
}
