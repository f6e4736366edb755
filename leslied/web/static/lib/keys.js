/** Keyboard shortcuts; the help lists what is registered. */

/**
 * @typedef {object} Shortcut
 * @property {string} keys
 * @property {string} about
 * @property {(event: KeyboardEvent) => void} run
 * @property {boolean} isGlobal Whether it works on every page.
 */

/** @type {Set<Shortcut>} */
const shortcuts = new Set();

/**
 * Register a shortcut, such as `j`, `J`, `?`, `Ctrl-K` or `Escape`, until the signal is
 * aborted. Without a signal, it works on every page.
 *
 * @param {string} keys
 * @param {string} about
 * @param {(event: KeyboardEvent) => void} run
 * @param {AbortSignal} [signal]
 */
export function addShortcut(keys, about, run, signal) {
  const shortcut = { keys, about, run, isGlobal: !signal };
  shortcuts.add(shortcut);
  signal?.addEventListener("abort", () => shortcuts.delete(shortcut));
}

/** @returns {Shortcut[]} The shortcuts of the page that is shown. */
export function listShortcuts() {
  return [...shortcuts];
}

/** Listen to the keyboard from now on. */
export function start() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const name = getName(event);
    if (name === "Enter" && isActivating(event)) return;
    if (isTyping(event) && !name.startsWith("Ctrl-") && name !== "Escape") return;
    const shortcut = [...shortcuts].reverse().find(({ keys }) => keys === name);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event);
  });
}

/** @param {KeyboardEvent} event */
function getName(event) {
  if (event.ctrlKey || event.metaKey) return `Ctrl-${event.key.toUpperCase()}`;
  return event.altKey ? `Alt-${event.key}` : event.key;
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
  const target = event.target;
  return target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select"));
}

/** @param {KeyboardEvent} event @returns {boolean} Whether Enter acts on what has focus. */
function isActivating(event) {
  return event.target instanceof Element && event.target.matches("a, button, summary");
}
