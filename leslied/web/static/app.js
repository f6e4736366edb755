/** Entry point: the bar at the top, the pages and what every page can do. */

import * as keys from "./lib/keys.js";
import * as live from "./lib/live.js";
import * as router from "./lib/router.js";
import { showHelp } from "./ui/help.js";
import { applyPageStyles } from "./ui/page_styles.js";
import { togglePalette } from "./ui/palette.js";
import { drawShell, PAGES } from "./ui/shell.js";
import { changeTheme } from "./ui/theme.js";
import * as toast from "./ui/toast.js";

const PRELOAD_MILLISECONDS = 500;

function addPages() {
  router.addRoute("/", async () => (await import("./pages/sessions.js")).showPage);
  router.addRoute("/s/:id", async () => (await import("./pages/reader.js")).showPage);
  router.addRoute("/search", async () => (await import("./pages/search.js")).showPage);
  router.addRoute("/files", async () => (await import("./pages/files.js")).showPage);
  router.addRoute("/stats", async () => (await import("./pages/stats.js")).showPage);
  router.addRoute("/threads", async () => (await import("./pages/threads.js")).showPage);
}

function addShortcuts() {
  PAGES.forEach(({ name, path }, i) => keys.addShortcut(`${i + 1}`, name, () => router.go(path)));
  keys.addShortcut("Ctrl-K", "Command palette", () => togglePalette(PAGES));
  keys.addShortcut("?", "Keyboard shortcuts", showHelp);
  keys.addShortcut("t", "Theme: system, light or dark", changeTheme);
}

router.onPageChange(applyPageStyles);
drawShell();
addPages();
addShortcuts();
toast.start();
keys.start();
live.connect();
router.start();

// The reader is opened most, so it is loaded before it is needed. If this fails, it is
// loaded when it is opened.
setTimeout(() => void import("./pages/reader.js").catch(() => {}), PRELOAD_MILLISECONDS);
