/** The messages of a unit or subagent, loaded page by page. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { drawMessage } from "./message.js";
import { drawSubagent } from "./subagent.js";

const LINE_ESTIMATE_REM = 6;

/** A list of pages; a page that is not loaded holds its place. */
export class MessageList {
  /**
   * @param {import("./view.js").View} view
   * @param {import("./types.js").Place} place
   * @param {number} pages
   * @param {number} [messages] Number of messages on all pages, if it is known.
   */
  constructor(view, place, pages, messages = 8) {
    this.view = view;
    this.place = place;
    this.element = h("div", { class: "messages" });
    /** @type {HTMLElement[]} */
    this.pages = [];
    /** @type {Map<number, Promise<number>>} */
    this.loading = new Map();
    /** @type {Map<string, string>} The messages that are drawn, as JSON. */
    this.drawn = new Map();
    this.setPages(pages, messages);
  }

  /**
   * Add places for pages that are new.
   *
   * @param {number} count
   * @param {number} [messages]
   */
  setPages(count, messages = 8) {
    while (this.pages.length < count) {
      const page = h("div", { class: "message-page unloaded", "data-page": this.pages.length });
      const height = Math.max(messages / count, 1) * LINE_ESTIMATE_REM;
      page.style.setProperty("--page-height", `${height}rem`);
      this.pages.push(page);
      this.element.append(page);
    }
  }

  /** @param {number} number */
  isLoaded(number) {
    return !this.pages[number]?.classList.contains("unloaded");
  }

  /**
   * Load a page unless it is loaded; return how many of its messages are new.
   *
   * @param {number} number
   */
  async load(number) {
    if (!this.pages[number] || this.isLoaded(number)) return 0;
    return await this.reload(number);
  }

  /**
   * Load a page again, and draw what has changed.
   *
   * @param {number} number
   * @returns {Promise<number>}
   */
  async reload(number) {
    const running = this.loading.get(number);
    if (running) return await running;
    const task = this.fetchPage(number).finally(() => this.loading.delete(number));
    this.loading.set(number, task);
    return await task;
  }

  /** Load pages again that may have changed: from the first call without an answer on. */
  async refresh() {
    const open = this.element.querySelector(":scope > .message-page .call.unanswered");
    const first = Number(open?.closest("[data-page]")?.getAttribute("data-page") ?? this.pages.length - 1);
    let added = 0;
    for (let number = Math.max(first, 0); number < this.pages.length; number += 1) {
      if (number < this.pages.length - 1 && !this.isLoaded(number)) continue;
      added += await this.reload(number);
    }
    return added;
  }

  /** @param {number} number */
  async fetchPage(number) {
    const { session, unit, subagent } = this.place;
    const path = `/sessions/${encodeURIComponent(session)}/messages`;
    const data = await get(path, { unit, page: number, subagent }, this.view.signal);
    this.setPages(data.pages, data.total);
    return this.drawPage(number, data);
  }

  /**
   * @param {number} number
   * @param {import("./types.js").MessagePage} data
   */
  drawPage(number, data) {
    const page = this.pages[number];
    if (!page) return 0;
    const isNew = page.classList.contains("unloaded");
    let added = 0;
    /** @type {Element[]} */
    const elements = [];
    const old = new Map([...page.children].map((element) => [element.id, element]));
    for (const message of data.messages) {
      const id = `entry-${message.id}`;
      const json = JSON.stringify(message);
      const existing = old.get(id);
      if (existing && this.drawn.get(id) === json) {
        elements.push(existing);
        continue;
      }
      this.drawn.set(id, json);
      if (!existing && !isNew) added += 1;
      elements.push(this.drawAgain(message, existing));
    }
    const subagents = data.subagents.map((each) => old.get(`subagent-${each.id}`) ?? this.drawOwnSubagent(each));
    replaceChildren(page, [...elements, ...subagents]);
    page.classList.remove("unloaded");
    return added;
  }

  /**
   * Draw a message that may be on the screen in another form, with the same calls open.
   *
   * @param {import("./types.js").Message} message
   * @param {Element | undefined} existing
   */
  drawAgain(message, existing) {
    const element = drawMessage(message, this.view, this.place);
    if (!existing) return element;
    for (const details of existing.querySelectorAll("details[open][id]")) {
      const copy = element.querySelector(`#${CSS.escape(details.id)}`);
      if (copy instanceof HTMLDetailsElement) copy.open = true;
    }
    if (existing.classList.contains("current")) element.classList.add("current");
    return element;
  }

  /** @param {import("./types.js").Subagent} subagent */
  drawOwnSubagent(subagent) {
    const element = drawSubagent(subagent, this.view, this.place);
    element.id = `subagent-${subagent.id}`;
    return element;
  }
}

/**
 * Replace the children of an element without moving those that remain: the browser then
 * keeps the reader's place.
 *
 * @param {Element} parent
 * @param {Element[]} children
 */
function replaceChildren(parent, children) {
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, position) => {
    if (parent.children[position] !== child) parent.insertBefore(child, parent.children[position] ?? null);
  });
}
