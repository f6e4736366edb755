/** Images of messages. They are loaded when they come near the screen. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { makeIcon } from "../ui/icons.js";

/** How far from the screen an image is loaded. */
const MARGIN = "600px 0px";

/** @type {WeakMap<Element, () => Promise<void>>} */
const loaders = new WeakMap();
const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    void loaders.get(target)?.();
  }
}, { rootMargin: MARGIN });

/**
 * Draw the images of an entry; in place of one that cannot be shown, the reason.
 *
 * @param {string} session
 * @param {string | null} entry
 * @param {number} count
 */
export function drawImages(session, entry, count) {
  if (!count || !entry) return null;
  const path = `/sessions/${encodeURIComponent(session)}/entries/${entry}/images`;
  const box = h("div", { class: "images" }, Array.from({ length: count }, () => h("span", { class: "image-place" })));
  loaders.set(box, () => load(box, path));
  observer.observe(box);
  return box;
}

/**
 * Ask which images can be shown before the browser asks for them: it logs an error for
 * every image that it does not get.
 *
 * @param {HTMLElement} box
 * @param {string} path
 */
async function load(box, path) {
  try {
    const { images } = await get(path);
    box.replaceChildren(...images.map((/** @type {{ problem: string | null }} */ { problem }, /** @type {number} */ number) =>
      problem ? drawProblem(problem) : drawImage(`/api${path}/${number}`, number)));
  } catch (error) {
    box.replaceChildren(drawProblem(error instanceof Error ? error.message : String(error)));
  }
}

/**
 * @param {string} address
 * @param {number} number
 */
function drawImage(address, number) {
  const image = h("img", { src: address, alt: `Image ${number + 1}` });
  const link = h("a", { href: address, target: "_blank", rel: "noopener" }, image);
  image.addEventListener("error", () => link.replaceWith(drawProblem("The browser cannot show the image.")));
  return link;
}

/** @param {string} reason */
function drawProblem(reason) {
  return h("span", { class: "image-place" }, makeIcon("image"), h("span", {}, reason));
}
