/** Entry point: the bar at the top, the pages and what every page can do. */

import { h } from "./lib/dom.js";
import * as keys from "./lib/keys.js";
import * as live from "./lib/live.js";
import * as router from "./lib/router.js";
import { showHelp } from "./ui/help.js";
import { togglePalette } from "./ui/palette.js";
import * as theme from "./ui/theme.js";

/** @type {[name: string, path: string][]} */
const PAGES = [
  ["Sessions", "/"],
  ["Search", "/search"],
  ["Files", "/files"],
  ["Stats", "/stats"],
  ["Threads", "/threads"],
];

function drawShell() {
  const state = h("span", { class: "daemon-state", role: "status" });
  const nav = h("nav", { "aria-label": "Pages" });
  for (const [name, path] of PAGES) nav.append(h("a", { href: path }, name));
  document.querySelector("#shell")?.append(
    h("a", { class: "brand", href: "/" }, "leslied"),
    nav,
    h(
      "div",
      { class: "tools" },
      state,
      h(
        "button",
        { class: "palette-button", onclick: () => togglePalette(PAGES), title: "Command palette" },
        "Go to",
        h("kbd", {}, "Ctrl K"),
      ),
      h("button", { onclick: theme.toggle, "aria-label": "Light or dark" }, "◐"),
      h("button", { onclick: showHelp, "aria-label": "Keyboard shortcuts" }, "?"),
    ),
  );
  router.onPageChange(() => markCurrentPage(nav));
  live.onLive((event) => {
    if (event.type !== "daemon") return;
    const text = event.is_running ? "live" : "not reading: run leslied service install";
    const dot = h("i", { class: event.is_running ? "dot live" : "dot" });
    state.replaceChildren(dot, h("span", {}, text));
  });
}

/** @param {HTMLElement} nav */
function markCurrentPage(nav) {
  for (const link of nav.querySelectorAll("a")) {
    const isCurrent = link.pathname === location.pathname;
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function addPages() {
  router.addRoute("/", async () => (await import("./pages/sessions.js")).showPage);
  router.addRoute("/s/:id", async () => (await import("./pages/reader.js")).showPage);
  router.addRoute("/search", async () => (await import("./pages/search.js")).showPage);
  router.addRoute("/files", async () => (await import("./pages/files.js")).showPage);
  router.addRoute("/stats", async () => (await import("./pages/stats.js")).showPage);
  router.addRoute("/threads", async () => (await import("./pages/threads.js")).showPage);
}

theme.start();
drawShell();
addPages();
keys.addShortcut("?", "Show keyboard shortcuts", showHelp);
keys.addShortcut("Ctrl-K", "Open the command palette", () => togglePalette(PAGES));
keys.addShortcut("t", "Change between light and dark", theme.toggle);
keys.start();
live.connect();
router.start();
