/**
 * Light or dark: what the user chose, else what the system prefers.
 *
 * index.html loads this module before the first frame is drawn, so that the page never
 * shows in the other theme first.
 */

/** @typedef {"system" | "light" | "dark"} Theme */

/** @type {Theme[]} */
const THEMES = ["system", "light", "dark"];
const KEY = "leslied-theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** @type {Set<(theme: Theme) => void>} */
const listeners = new Set();

/** @returns {Theme} What the user chose. */
export function getTheme() {
  const chosen = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === chosen) ?? "system";
}

/** Change to the next theme: system, light, dark. */
export function changeTheme() {
  const next = THEMES[(THEMES.indexOf(getTheme()) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, next);
  apply();
}

/** @param {(theme: Theme) => void} listener Called when the user chose another theme. */
export function onThemeChange(listener) {
  listeners.add(listener);
}

function apply() {
  const theme = getTheme();
  const isDark = theme === "system" ? DARK.matches : theme === "dark";
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  for (const listener of listeners) listener(theme);
}

apply();
DARK.addEventListener("change", apply);
// Other tabs follow.
addEventListener("storage", apply);
