/** The list of keyboard shortcuts. */

import { h } from "../lib/dom.js";
import { listShortcuts } from "../lib/keys.js";

/** Show the shortcuts: those of the page that is shown, then those of every page. */
export function showHelp() {
  if (document.querySelector("dialog[open]")) return;
  const shortcuts = listShortcuts();
  const dialog = h(
    "dialog",
    { "aria-label": "Keyboard shortcuts", onclose: () => dialog.remove() },
    h("h2", {}, "Keyboard shortcuts"),
    h(
      "div",
      { class: "help" },
      drawGroup("On this page", shortcuts.filter(({ isGlobal }) => !isGlobal)),
      drawGroup("Everywhere", shortcuts.filter(({ isGlobal }) => isGlobal)),
    ),
    h("form", { method: "dialog", class: "dialog-end" }, h("button", {}, "Close")),
  );
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {string} title
 * @param {import("../lib/keys.js").Shortcut[]} shortcuts
 */
function drawGroup(title, shortcuts) {
  if (!shortcuts.length) return null;
  const rows = shortcuts.flatMap(({ keys, about }) => [
    h("dt", {}, h("kbd", {}, keys)),
    h("dd", {}, about),
  ]);
  return h("section", {}, h("h3", {}, title), h("dl", { class: "keys" }, rows));
}
