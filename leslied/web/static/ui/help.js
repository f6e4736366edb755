/** The list of keyboard shortcuts. */

import { h } from "../lib/dom.js";
import { listShortcuts } from "../lib/keys.js";

/** Show the shortcuts of the page that is shown. */
export function showHelp() {
  const rows = listShortcuts().flatMap(({ keys, about }) => [
    h("dt", {}, h("kbd", {}, keys)),
    h("dd", {}, about),
  ]);
  const dialog = h(
    "dialog",
    { "aria-label": "Keyboard shortcuts", onclose: () => dialog.remove() },
    h("h2", {}, "Keyboard shortcuts"),
    h("dl", { class: "keys" }, rows),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}
