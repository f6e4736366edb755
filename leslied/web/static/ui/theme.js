/** Light or dark: what the user chose, else what the system prefers. */

const KEY = "leslied-theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** Apply the theme now and when the system's preference changes. */
export function start() {
  apply();
  DARK.addEventListener("change", apply);
}

/** Change to the other theme, and remember it. */
export function toggle() {
  localStorage.setItem(KEY, isDark() ? "light" : "dark");
  apply();
}

function isDark() {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === "dark" : DARK.matches;
}

function apply() {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
}
