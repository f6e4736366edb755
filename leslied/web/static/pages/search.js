/** The search page: results change with every keystroke. */

import { ApiError, get, toQuery } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { addShortcut } from "../lib/keys.js";
import { replaceQuery } from "../lib/router.js";
import { showError } from "../lib/states.js";
import { drawFacets, drawFilters, drawGroups, drawSummary } from "./search/results.js";
import { drawHelp } from "./search/help.js";

/** @typedef {"newest" | "rank" | "substring"} Sort */

const SESSIONS_PER_PAGE = 10;
const MAX_SESSIONS = 200;
/** A search for any characters reads every text, so it waits for a pause in typing. */
const SUBSTRING_DELAY_MS = 250;
/** @type {[value: Sort, label: string, about: string][]} */
const SORTS = [
  ["newest", "Newest", "The newest entries first"],
  ["rank", "Best match", "The most relevant entries first"],
  ["substring", "Any characters", "The exact characters, also inside words; slower"],
];

/** @type {import("../lib/router.js").Page} */
export function showPage(context) {
  document.title = "Search · leslied";
  new SearchPage(context).start();
}

/** The page, what it asks for, and the request that is under way. */
class SearchPage {
  /** @param {import("../lib/router.js").PageContext} context */
  constructor({ root, query, signal }) {
    this.root = root;
    this.signal = signal;
    this.sort = parseSort(query.get("sort"));
    this.sessions = SESSIONS_PER_PAGE;
    /** @type {AbortController | null} */
    this.request = null;
    this.box = h("input", {
      type: "search",
      name: "q",
      value: query.get("q") ?? "",
      placeholder: "Search prompts, answers, tool calls and results",
      "aria-label": "Search",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      maxlength: "2000",
      oninput: () => this.change(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.handleBoxKey(event),
    });
    this.sorts = h("div", { class: "segmented", role: "group", "aria-label": "Order" });
    this.notice = h("div", { class: "search-notice", role: "status" });
    this.summary = h("p", { class: "search-summary", role: "status" });
    this.filters = h("div", { class: "search-filters" });
    this.facets = h("div", { class: "search-facets" });
    this.results = h("div", { class: "search-results" });
    this.main = h("div", { class: "search-main" }, this.summary, this.results);
    this.body = h("div", { class: "search-body" });
  }

  start() {
    this.root.replaceChildren(this.draw());
    this.results.addEventListener("keydown", (event) => this.handleResultKey(event));
    this.root.addEventListener("click", (event) => this.followQueryLink(event), {
      signal: this.signal,
    });
    addShortcut("/", "Search: go to the box", () => this.focusBox(), this.signal);
    addShortcut("j", "Search: next result", () => this.move(1), this.signal);
    addShortcut("k", "Search: previous result", () => this.move(-1), this.signal);
    this.signal.addEventListener("abort", () => this.request?.abort());
    this.focusBox();
    void this.run();
  }

  draw() {
    return h(
      "div",
      { class: "page search-page" },
      h("h1", { class: "visually-hidden" }, "Search"),
      h(
        "form",
        { class: "search-form", role: "search", onsubmit: (/** @type {Event} */ e) => e.preventDefault() },
        this.box,
        this.drawSorts(),
      ),
      this.filters,
      this.notice,
      this.body,
    );
  }

  drawSorts() {
    const buttons = SORTS.map(([value, label, about]) =>
      h("button", { type: "button", title: about, value, onclick: () => this.changeSort(value) }, label));
    this.sorts.replaceChildren(...buttons);
    this.markSort();
    return this.sorts;
  }

  /** @param {Sort} sort */
  changeSort(sort) {
    this.sort = sort;
    this.markSort();
    this.change();
  }

  markSort() {
    for (const button of this.sorts.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === this.sort));
    }
  }

  /** Search for what is in the box now. */
  change() {
    this.sessions = SESSIONS_PER_PAGE;
    replaceQuery(this.getAddress(this.box.value));
    void this.run();
  }

  /** @param {string} text */
  getAddress(text) {
    return { q: text, sort: this.sort === "newest" ? "" : this.sort };
  }

  /** Ask for the results of the current query, and drop the request before it. */
  async run() {
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    if (!this.box.value.trim()) {
      this.showStart();
      return;
    }
    this.results.setAttribute("aria-busy", "true");
    try {
      if (this.sort === "substring") await wait(SUBSTRING_DELAY_MS, request.signal);
      const params = { q: this.box.value, sort: this.sort, typing: true, sessions: this.sessions };
      const data = await get("/search", params, request.signal);
      if (!request.signal.aborted) this.showResults(data);
    } catch (error) {
      if (!request.signal.aborted) this.showProblem(error);
    }
  }

  showStart() {
    this.notice.replaceChildren();
    this.filters.replaceChildren();
    this.body.replaceChildren(drawHelp());
  }

  /** @param {any} data */
  showResults(data) {
    this.results.removeAttribute("aria-busy");
    this.notice.replaceChildren(...data.notes.map((/** @type {string} */ note) => this.drawNote(note)));
    this.filters.replaceChildren(...drawFilters(data.filters));
    this.summary.replaceChildren(drawSummary(data, this.sort));
    this.facets.replaceChildren(drawFacets(data.facets, data.has_more));
    const index = this.listLinks().findIndex((link) => link === document.activeElement);
    this.results.replaceChildren(...drawGroups(data), ...this.drawMore(data));
    // The user may have moved on to the results while newer ones were on their way.
    if (index >= 0) this.focusLink(index);
    if (!this.main.isConnected) this.body.replaceChildren(this.facets, this.main);
  }

  /** @param {string} note */
  drawNote(note) {
    const isAboutCharacters = note.includes("any characters");
    const change = () => this.changeSort("substring");
    return h("p", {}, note, isAboutCharacters && [" ", h("button", { class: "link-button", onclick: change }, "Search for any characters")]);
  }

  /** @param {any} data */
  drawMore(data) {
    const hidden = data.session_count - data.sessions.length;
    if (hidden <= 0 || this.sessions >= MAX_SESSIONS) return [];
    const show = () => {
      this.sessions = Math.min(this.sessions + SESSIONS_PER_PAGE, MAX_SESSIONS);
      void this.run();
    };
    return [h("button", { class: "search-more", onclick: show }, "Show more sessions")];
  }

  /**
   * A query that is not valid yet is normal while the user types, so the results stay.
   *
   * @param {unknown} error
   */
  showProblem(error) {
    this.results.removeAttribute("aria-busy");
    if (error instanceof ApiError && error.status === 400) {
      this.notice.replaceChildren(h("p", { class: "problem" }, h("strong", {}, error.message), " ", error.hint));
    } else {
      showError(this.body, error);
    }
  }

  /**
   * Follow a link to another query without drawing the page again.
   *
   * @param {MouseEvent} event
   */
  followQueryLink(event) {
    const link = event.target instanceof Element ? event.target.closest("a[data-query]") : null;
    if (!(link instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.box.value = link.dataset["query"] ?? "";
    this.sessions = SESSIONS_PER_PAGE;
    history.pushState(null, "", `/search${toQuery(this.getAddress(this.box.value))}`);
    this.focusBox();
    void this.run();
  }

  focusBox() {
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  /** @param {KeyboardEvent} event */
  handleBoxKey(event) {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    this.move(1);
  }

  /** @param {KeyboardEvent} event */
  handleResultKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.focusBox();
    else if (step) this.move(step);
    else return;
    event.preventDefault();
  }

  /**
   * Move the focus to another result; before the first one is the box.
   *
   * @param {number} step
   */
  move(step) {
    const current = this.listLinks().findIndex((link) => link === document.activeElement);
    this.focusLink(current + step);
  }

  /** @returns {HTMLAnchorElement[]} The results, from first to last. */
  listLinks() {
    return [...this.results.querySelectorAll("a")].filter((link) => link.classList.contains("hit"));
  }

  /** @param {number} index */
  focusLink(index) {
    const links = this.listLinks();
    const link = links[Math.min(index, links.length - 1)];
    if (link) link.focus();
    else this.focusBox();
  }
}

/**
 * Wait, or throw when the signal is aborted.
 *
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 */
async function wait(milliseconds, signal) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  signal.throwIfAborted();
}

/**
 * @param {string | null} value
 * @returns {Sort}
 */
function parseSort(value) {
  return SORTS.find(([name]) => name === value)?.[0] ?? "newest";
}
