/** Short names of projects. */

/** A shorter name, such as that of a numbered working tree, needs the folder above it. */
const MIN_NAME_CHARACTERS = 3;

/**
 * Return a function that shortens paths to their last part, and to more of it where
 * several projects have the same last part or it says little.
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
  return (path) => {
    const name = takeLast(path, 1);
    const isClear = uses.get(name) === 1 && name.length >= MIN_NAME_CHARACTERS;
    return isClear ? name : takeLast(path, 2);
  };
}

/**
 * @param {string} path
 * @param {number} count
 */
function takeLast(path, count) {
  return path.split("/").filter(Boolean).slice(-count).join("/") || path;
}
