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
 * Draw a path with its last part emphasized; it may break after each slash.
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

/**
 * Return a short name for each folder: as many of its last parts as tell it apart.
 *
 * @param {string[]} paths
 * @returns {Map<string, string>}
 */
export function nameFolders(paths) {
  /** @type {Map<string, string>} */
  const names = new Map();
  for (let count = 1; names.size < paths.length && count < 9; count += 1) {
    const candidates = paths.map((path) => path.split("/").slice(-count).join("/"));
    candidates.forEach((name, i) => {
      const path = paths[i] ?? "";
      const isUnique = candidates.indexOf(name) === candidates.lastIndexOf(name);
      if (!names.has(path) && (isUnique || name === path)) names.set(path, name);
    });
  }
  return names;
}
