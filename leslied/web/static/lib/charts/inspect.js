/** Values of the marks in a picture, on hover and by keyboard. */

import { h } from "../dom.js";
import { go } from "../router.js";

/**
 * @typedef {object} Mark One bar, cell or point.
 * @property {SVGElement} element
 * @property {string} title
 * @property {{ name: string, value: string, color?: string }[]} values
 * @property {string} [href] Where a click leads.
 */

/**
 * Show a mark's values while the pointer or the keyboard is on it. Left and right move
 * by one mark, up and down by `step`.
 *
 * @param {HTMLElement} frame The element around the picture; it gets the box of values.
 * @param {SVGElement} picture
 * @param {Mark[]} marks In the order of the keyboard.
 * @param {number} [step]
 */
export function inspect(frame, picture, marks, step = 1) {
  const box = h("div", { class: "chart-values", "aria-hidden": "true", hidden: true });
  const status = h("p", { class: "visually-hidden", role: "status" });
  frame.append(box, status);
  const indexes = new Map(marks.map((mark, index) => [mark.element, index]));
  let current = -1;

  /** @param {number} index -1 for none */
  const select = (index) => {
    marks[current]?.element.classList.remove("selected");
    current = index;
    const mark = marks[index];
    box.hidden = !mark;
    if (!mark) return;
    mark.element.classList.add("selected");
    fillBox(box, mark);
    placeBox(box, frame, mark.element);
  };

  picture.addEventListener("pointermove", (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-mark]") : null;
    const index = target instanceof SVGElement ? indexes.get(target) ?? -1 : -1;
    if (index !== current) select(index);
  });
  picture.addEventListener("pointerleave", () => select(-1));
  picture.addEventListener("blur", () => select(-1));
  picture.addEventListener("click", () => {
    const href = marks[current]?.href;
    if (href) go(href);
  });
  picture.addEventListener("keydown", (event) => {
    const next = findNext(event.key, current, marks.length, step);
    if (event.key === "Enter" && marks[current]?.href) go(marks[current]?.href ?? "");
    if (event.key === "Escape") select(-1);
    if (next === null) return;
    event.preventDefault();
    select(next);
    const mark = marks[next];
    if (mark) status.textContent = toText(mark);
  });
}

/**
 * Return the mark that a key leads to, or null.
 *
 * @param {string} key
 * @param {number} current
 * @param {number} count
 * @param {number} step
 */
function findNext(key, current, count, step) {
  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: step, ArrowUp: -step };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!(key in moves)) return null;
  if (current < 0) return key === "ArrowLeft" || key === "ArrowUp" ? count - 1 : 0;
  const next = current + moves[/** @type {keyof typeof moves} */ (key)];
  return next < 0 || next >= count ? current : next;
}

/** @param {Mark} mark */
function toText({ title, values }) {
  return `${title}: ${values.map(({ name, value }) => `${name} ${value}`.trim()).join(", ")}`;
}

/**
 * @param {HTMLElement} box
 * @param {Mark} mark
 */
function fillBox(box, { title, values }) {
  const rows = values.flatMap(({ name, value, color }) => [
    h("dt", {}, color && h("i", { class: `swatch ${color}` }), name),
    h("dd", {}, value),
  ]);
  box.replaceChildren(h("strong", {}, title), h("dl", {}, rows));
}

/**
 * Put the box above the mark, within the frame.
 *
 * @param {HTMLElement} box
 * @param {HTMLElement} frame
 * @param {Element} element
 */
function placeBox(box, frame, element) {
  const outer = frame.getBoundingClientRect();
  const mark = element.getBoundingClientRect();
  const center = mark.left + mark.width / 2 - outer.left;
  const left = Math.min(Math.max(center - box.offsetWidth / 2, 0), outer.width - box.offsetWidth);
  const above = mark.top - outer.top - box.offsetHeight - 8;
  const isHigh = mark.height > outer.height / 2;
  const side = center < outer.width / 2 ? mark.right - outer.left + 8 : mark.left - outer.left - box.offsetWidth - 8;
  box.style.setProperty("left", `${Math.max(isHigh ? side : left, 0)}px`);
  box.style.setProperty("top", `${isHigh ? 0 : above}px`);
}
