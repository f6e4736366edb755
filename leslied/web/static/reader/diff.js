/** Edits of files as diffs. */

import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { makeCopyButton } from "../lib/copy.js";

const CLASSES = { "+": "added", "-": "removed", " ": "", "@": "gap" };
const NAMES = { "+": "added: ", "-": "removed: ", " ": "", "@": "" };

/**
 * Draw an edit with links to the file's history and the editor.
 *
 * @param {import("./types.js").Edit} edit
 * @param {string | null} project
 */
export function drawEdit(edit, project) {
  const lines = edit.lines.map(([sign, text]) => sign === "@"
    ? h("span", { class: "gap" }, "⋯\n")
    : h(
      "span",
      { class: CLASSES[sign] },
      NAMES[sign] && h("span", { class: "visually-hidden" }, NAMES[sign]),
      h("i", { "aria-hidden": "true" }, sign),
      `${text}\n`,
    ));
  return h(
    "figure",
    { class: "edit" },
    h("figcaption", {}, h("code", { class: "clip" }, edit.path), drawDiffstat(edit.diffstat), drawFileLinks(edit.path, project)),
    h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": `Changes of ${edit.path}` }, lines),
    edit.hidden_lines > 0 && h("p", { class: "faint small" }, `${formatCount(edit.hidden_lines, "more line")}`),
  );
}

/** @param {string} diffstat Such as `+3 -1`. */
export function drawDiffstat(diffstat) {
  const parts = diffstat.split(" ").filter(Boolean);
  return h(
    "span",
    { class: "diffstat" },
    parts.map((part) => h("span", { class: part.startsWith("+") ? "plus" : "minus" }, part.replace("-", "−"))),
  );
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
