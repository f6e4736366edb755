/**
 * A list of which only the rows near the window are in the document.
 *
 * Rows have known heights, so every position is known without drawing. The page scrolls,
 * not the list.
 */

import { h } from "./dom.js";

/**
 * @typedef {object} Item
 * @property {string} key Names the item; unique in the list.
 * @property {number} height In pixels.
 * @property {string} revision Changes when the row must be drawn again.
 */

/** @typedef {{ key: string, top: number }} Anchor A row, and its place in the window. */

/** Screens above and below the window that are drawn, so that fast scrolling shows rows. */
const OVERSCAN_SCREENS = 1;

/** @template {Item} T */
export class VirtualList {
  /** @type {T[]} */
  #items = [];
  /** Where each item starts; the last value is the height of the list. */
  #tops = new Float64Array(1);
  /** @type {Map<string, { element: HTMLElement, revision: string }>} */
  #drawn = new Map();
  /** @type {Map<string, number> | null} */
  #positions = null;
  /** Element that holds the drawn rows, moved to their place. */
  #window = h("div", { class: "virtual-window", role: "presentation" });
  #draw;

  /**
   * @param {HTMLElement} root The element of the list.
   * @param {(item: T) => HTMLElement} draw
   * @param {AbortSignal} signal
   */
  constructor(root, draw, signal) {
    this.root = root;
    this.#draw = draw;
    /** Height of what covers the top of the window, such as a bar, in pixels. */
    this.coveredTop = 0;
    root.classList.add("virtual-list");
    root.append(this.#window);
    const render = () => this.render();
    addEventListener("scroll", render, { passive: true, signal });
    addEventListener("resize", render, { passive: true, signal });
  }

  get items() {
    return this.#items;
  }

  /**
   * Show other items. The rows that the reader sees stay where they are, unless the
   * list is at its top.
   *
   * @param {T[]} items
   * @param {(key: string) => boolean} [isStable] Whether a row can mark the place: false
   *   for rows that are about to move.
   */
  setItems(items, isStable = () => true) {
    const anchor = this.#isAtTop() ? null : this.findAnchor(isStable);
    this.#items = items;
    this.#positions = null;
    this.#tops = new Float64Array(items.length + 1);
    items.forEach((item, i) => { this.#tops[i + 1] = (this.#tops[i] ?? 0) + item.height; });
    this.root.style.setProperty("height", `${this.#tops[items.length]}px`);
    if (anchor) this.restoreAnchor(anchor);
    this.render();
  }

  /** Draw the rows near the window, and remove the others. */
  render() {
    const top = this.#getScrolled();
    const margin = innerHeight * OVERSCAN_SCREENS;
    const first = this.#findAt(top - margin);
    const last = Math.min(this.#findAt(top + innerHeight + margin) + 1, this.#items.length);
    this.#window.style.setProperty("transform", `translateY(${this.#tops[first] ?? 0}px)`);
    this.#drawRange(first, last);
  }

  /**
   * @param {string} key
   * @returns {number} The position of an item; -1 if the list does not have it.
   */
  findIndex(key) {
    this.#positions ??= new Map(this.#items.map((item, i) => [item.key, i]));
    return this.#positions.get(key) ?? -1;
  }

  /**
   * @param {string} key
   * @returns {HTMLElement | null} The row of an item, if it is drawn.
   */
  findElement(key) {
    return this.#drawn.get(key)?.element ?? null;
  }

  /** @returns {number} The position of the first item that is not covered. */
  findFirstVisible() {
    return this.#findAt(this.#getScrolled() + this.coveredTop + 1);
  }

  /**
   * Scroll as little as needed to show an item, and return its row.
   *
   * @param {number} index
   */
  reveal(index) {
    const item = this.#items[index];
    if (!item) return null;
    const start = (this.#tops[index] ?? 0) - this.#getScrolled();
    const space = 8;
    if (start < this.coveredTop + space) scrollBy({ top: start - this.coveredTop - space });
    const end = start + item.height;
    if (end > innerHeight - space) scrollBy({ top: end - innerHeight + space });
    this.render();
    return this.findElement(item.key);
  }

  /**
   * @param {(key: string) => boolean} [isStable]
   * @returns {Anchor | null} The first visible row that marks the reader's place.
   */
  findAnchor(isStable = () => true) {
    const scrolled = this.#getScrolled();
    for (let i = this.findFirstVisible(); i < this.#items.length; i++) {
      const item = this.#items[i];
      const top = (this.#tops[i] ?? 0) - scrolled;
      if (!item || top > innerHeight) break;
      if (isStable(item.key)) return { key: item.key, top };
    }
    return null;
  }

  /**
   * Scroll so that a row is where it was; stay if the list does not have it any more.
   *
   * @param {Anchor} anchor
   */
  restoreAnchor({ key, top }) {
    const index = this.findIndex(key);
    if (index < 0) return;
    const shift = (this.#tops[index] ?? 0) - this.#getScrolled() - top;
    if (Math.abs(shift) >= 1) scrollBy({ top: shift, behavior: "instant" });
    this.render();
  }

  /** @returns {number} How far the top of the window is below the top of the list. */
  #getScrolled() {
    return -this.root.getBoundingClientRect().top;
  }

  #isAtTop() {
    return this.#getScrolled() + this.coveredTop <= 1;
  }

  /**
   * Find the item at a distance from the top of the list.
   *
   * @param {number} y
   */
  #findAt(y) {
    let low = 0;
    let high = Math.max(this.#items.length - 1, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  #drawRange(first, last) {
    const items = this.#items.slice(first, last);
    const keys = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.#drawn) {
      if (keys.has(key)) continue;
      element.remove();
      this.#drawn.delete(key);
    }
    const elements = items.map((item) => this.#getElement(item));
    let next = this.#window.firstChild;
    for (const element of elements) {
      if (element === next) next = next.nextSibling;
      else this.#window.insertBefore(element, next);
    }
  }

  /**
   * Return the row of an item, drawn again if the item changed; focus stays in it.
   *
   * @param {T} item
   */
  #getElement(item) {
    const drawn = this.#drawn.get(item.key);
    if (drawn?.revision === item.revision) return drawn.element;
    const element = this.#draw(item);
    this.#drawn.set(item.key, { element, revision: item.revision });
    if (drawn) {
      const hadFocus = drawn.element.contains(document.activeElement);
      drawn.element.replaceWith(element);
      if (hadFocus) element.querySelector("a")?.focus({ preventScroll: true });
    }
    return element;
  }
}
