/** The bar at the top: the pages, whether new entries arrive, the theme and help. */

import { h } from "../lib/dom.js";
import * as router from "../lib/router.js";
import { showHelp } from "./help.js";
import { makeIcon } from "./icons.js";
import { makeLiveState } from "./live_state.js";
import { togglePalette } from "./palette.js";
import { changeTheme, getTheme, onThemeChange } from "./theme.js";

/** @type {{ name: string, path: string, icon: import("./icons.js").IconName }[]} */
export const PAGES = [
  { name: "Sessions", path: "/", icon: "sessions" },
  { name: "Search", path: "/search", icon: "search" },
  { name: "Files", path: "/files", icon: "files" },
  { name: "Stats", path: "/stats", icon: "stats" },
  { name: "Threads", path: "/threads", icon: "threads" },
];

/** Draw the bar, and keep it up to date. */
export function drawShell() {
  const nav = h("nav", { "aria-label": "Pages" }, PAGES.map(drawLink));
  document.querySelector("#shell")?.append(
    h("a", { class: "brand", href: "/" }, h("img", { src: "/static/icon.svg", alt: "" }), "leslied"),
    nav,
    h("div", { class: "tools" }, makePaletteButton(), makeLiveState(), makeThemeButton(), makeHelpButton()),
  );
  router.onPageChange(() => markCurrentPage(nav));
}

/** @param {typeof PAGES[number]} page */
function drawLink({ name, path, icon }) {
  return h("a", { href: path }, makeIcon(icon), h("span", { "data-name": name }, name));
}

/** @param {HTMLElement} nav */
function markCurrentPage(nav) {
  const path = location.pathname.startsWith("/s/") ? "/" : location.pathname;
  for (const link of nav.querySelectorAll("a")) {
    if (link.pathname === path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function makePaletteButton() {
  const attributes = { class: "palette-button", title: "Go to a page or a session (Ctrl K)" };
  return h("button", { ...attributes, onclick: () => togglePalette(PAGES) }, "Go to", h("kbd", {}, "Ctrl K"));
}

function makeThemeButton() {
  const button = h("button", { class: "icon-button", onclick: changeTheme });
  const draw = () => {
    const label = `Theme: ${getTheme()}`;
    button.setAttribute("aria-label", label);
    button.title = label;
    button.replaceChildren(makeIcon(getTheme()));
  };
  onThemeChange(draw);
  draw();
  return button;
}

function makeHelpButton() {
  const attributes = { class: "icon-button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" };
  return h("button", { ...attributes, onclick: showHelp }, makeIcon("help"));
}
