/** Short names of projects. */

/**
 * Return a function that shortens paths to their last part, and to more of it where
 * several projects have the same last part.
 *
 * @param {Iterable<string>} paths
 * @returns {(path: string) => string}
 */
export function makeShortener(paths) {
  /** @type {Map<string, number>} */
  const uses = new Map();
  for (const path of paths) {
    const name = takeLast(path, 1);
    uses.set(name, (uses.get(name) ?? 0) + 1);
  }
  return (path) => takeLast(path, (uses.get(takeLast(path, 1)) ?? 0) > 1 ? 2 : 1);
}

/**
 * @param {string} path
 * @param {number} count
 */
function takeLast(path, count) {
  return path.split("/").filter(Boolean).slice(-count).join("/") || path;
}
