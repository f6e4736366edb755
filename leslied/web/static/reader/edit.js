/** Edits of files in the reader. */

import { makeCopyButton } from "../lib/copy.js";
import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { drawDiff, drawDiffstat } from "../ui/diff.js";

/**
 * Draw an edit with links to the file's history and the editor.
 *
 * @param {import("./types.js").Edit} edit
 * @param {string | null} project
 */
export function drawEdit(edit, project) {
  return h(
    "figure",
    { class: "edit" },
    h("figcaption", {}, h("code", { class: "clip" }, edit.path), drawEditStat(edit), drawFileLinks(edit.path, project)),
    drawDiff(edit.lines, `Changes of ${edit.path}`),
    edit.hidden_lines > 0 && h("p", { class: "faint small" }, formatCount(edit.hidden_lines, "more line")),
  );
}

/**
 * @param {import("./types.js").Edit} edit
 */
export function drawEditStat({ diffstat }) {
  const count = (/** @type {RegExp} */ pattern) => Number(pattern.exec(diffstat)?.[1] ?? 0);
  return drawDiffstat(count(/\+(\d+)/), count(/-(\d+)/));
}

/**
 * @param {string} path
 * @param {string | null} project
 */
function drawFileLinks(path, project) {
  const isAbsolute = path.startsWith("/") && !path.includes(" → ") && !path.endsWith(" (deleted)");
  const query = new URLSearchParams({ path, ...(project ? { project } : {}) });
  return h(
    "span",
    { class: "file-links" },
    makeCopyButton(path, "Path"),
    h("a", { href: `/files?${query}` }, "History"),
    isAbsolute && h("a", { href: `vscode://file${encodeURI(path)}`, target: "_blank", rel: "noopener" }, "Open in editor"),
  );
}
