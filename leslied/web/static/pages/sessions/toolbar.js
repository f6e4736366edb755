/** The controls above the list: what is counted, filters, groups and order. */

import { h } from "../../lib/dom.js";
import { formatCount, formatNumber } from "../../lib/format.js";
import { makeIcon } from "../../ui/icons.js";
import { shortenModel } from "./rows.js";
import { clearFilters, getGroup, GROUPS, isFiltered, parseSince, SORTS } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./view.js").Facets} Facets */
/** @typedef {import("./view.js").FacetName} FacetName */

/**
 * @typedef {object} Counts
 * @property {number} selected
 * @property {number} total Sessions that are shown without filters.
 * @property {number} hidden
 * @property {number} projects
 * @property {boolean} isComplete Whether all sessions have been loaded.
 */

/** @type {Record<FacetName, string>} */
const FACET_LABELS = { project: "Project", agent: "Agent", model: "Model", status: "Status", tag: "Tag" };
/** @type {[value: string, label: string][]} */
const TIMES = [["today", "Today"], ["yesterday", "Since yesterday"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["90d", "Last 90 days"]];
/** @type {[value: string, label: string][]} */
const MARKS = [["waiting", "Waiting"], ["unread", "Unread"], ["starred", "Starred"]];
/** @type {[sort: string, name: string, label: string][]} */
const COLUMNS = [
  ["recent", "when", "Active"],
  ["duration", "duration", "Duration"],
  ["units", "units", "Prompts"],
  ["tools", "calls", "Calls"],
  ["tokens", "tokens", "Tokens"],
  ["cost", "cost", "Cost"],
];

export class Toolbar {
  #count = h("p", { class: "session-count soft", role: "status" });
  #notice = h("p", { class: "session-notice", role: "alert" });
  #searchLink = h("a", { class: "small", href: "/search" }, "Search inside sessions");
  #group = h("span", { class: "session-text current-group clip", "aria-hidden": "true" });
  #clear = h("button", { class: "button quiet", onclick: () => this.#change(clearFilters(this.#view)) }, makeIcon("close"), "Clear filters");
  #input = h("input", {
    type: "search",
    placeholder: "Filter by title or project",
    "aria-label": "Filter sessions",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.#change({ ...this.#view, q: this.#input.value }),
    onkeydown: (/** @type {KeyboardEvent} */ event) => this.#leaveInput(event),
  });
  /** @type {Map<keyof View, HTMLSelectElement>} */
  #selects = new Map();
  /** @type {Map<string, HTMLButtonElement>} */
  #marks = new Map();
  /** @type {Map<string, HTMLButtonElement>} */
  #columns = new Map();
  #view;
  #onChange;

  /**
   * @param {View} view
   * @param {(view: View) => void} onChange
   */
  constructor(view, onChange) {
    this.#view = view;
    this.#onChange = onChange;
    for (const name of /** @type {FacetName[]} */ (Object.keys(FACET_LABELS))) this.#addSelect(name, FACET_LABELS[name]);
    this.#addSelect("since", "Time");
    this.#addSelect("group", "Group by");
    this.#addSelect("sort", "Sort by");
    for (const [value, label] of MARKS) this.#addMark(value, label);
    this.header = h(
      "div",
      { class: "page-header" },
      h("h1", {}, "Sessions"),
      this.#count,
      this.#searchLink,
      h("div", { class: "filter-controls order" }, this.#selects.get("group"), this.#selects.get("sort")),
    );
    this.element = h("div", { class: "session-bar" }, this.#drawFilters(), this.#notice, this.#drawColumns());
  }

  /** @param {string} label The group at the top of the window, whose heading is not there. */
  showGroup(label) {
    if (this.#group.textContent !== label) this.#group.textContent = label;
  }

  focus() {
    this.#input.focus();
    this.#input.select();
  }

  /**
   * Show the state of the view, and how many sessions each value has.
   *
   * @param {View} view
   * @param {Facets} facets
   * @param {Counts} counts
   * @param {(path: string) => string} shorten
   */
  update(view, facets, counts, shorten) {
    this.#view = view;
    if (this.#input.value !== view.q) this.#input.value = view.q;
    for (const name of /** @type {FacetName[]} */ (Object.keys(FACET_LABELS))) {
      this.#fillFacet(name, facets[name], name === "project" ? shorten : name === "model" ? shortenModel : String);
    }
    const isListed = !view.until && (!view.since || TIMES.some(([value]) => value === view.since));
    const times = isListed ? TIMES : [...TIMES.filter(([value]) => value !== view.since), [view.since, formatTimes(view)]];
    const anyTime = isListed || view.since ? [["", "Any time"]] : [];
    this.#fill("since", view.since, /** @type {[string, string][]} */ ([...anyTime, ...times]));
    this.#fill("group", getGroup(view), Object.entries(GROUPS).map(([value, label]) => [value, `Group: ${label.toLowerCase()}`]));
    this.#fill("sort", view.sort, Object.entries(SORTS).map(([value, label]) => [value, `Sort: ${label.toLowerCase()}`]));
    for (const [value, button] of this.#marks) button.setAttribute("aria-pressed", String(view.only === value));
    for (const [value, button] of this.#columns) button.setAttribute("aria-pressed", String(view.sort === value));
    this.#clear.hidden = !isFiltered(view);
    this.#updateTexts(view, counts);
  }

  /**
   * @param {View} view
   * @param {Counts} counts
   */
  #updateTexts(view, counts) {
    this.#searchLink.hidden = !view.q.trim();
    this.#searchLink.href = `/search?q=${encodeURIComponent(view.q.trim())}`;
    this.#notice.textContent = view.since && Number.isNaN(parseSince(view.since))
      ? `“${view.since}” is not a time. Try today, 12h, 7d, 4w or 2026-01-31.` : "";
    if (counts.isComplete) this.#count.replaceChildren(...this.#drawCount(view, counts));
  }

  /**
   * @param {View} view
   * @param {Counts} counts
   * @returns {(Node | string)[]}
   */
  #drawCount(view, { selected, total, hidden, projects }) {
    const all = formatCount(total, "session");
    const main = isFiltered(view) ? `${formatNumber(selected)} of ${all}` : `${all} in ${formatCount(projects, "project")}`;
    if (!hidden && !view.hidden) return [main];
    const text = view.hidden ? "Hide those with neither a prompt nor an answer" : `${formatNumber(hidden)} hidden with neither a prompt nor an answer`;
    const change = () => this.#change({ ...this.#view, hidden: view.hidden ? "" : "1" });
    return [main, "; ", h("button", { class: "link-button", title: view.hidden ? "" : "Show them", onclick: change }, text)];
  }

  #drawFilters() {
    const select = (/** @type {keyof View} */ name) => /** @type {HTMLElement} */ (this.#selects.get(name));
    return h(
      "div",
      { class: "session-filters", role: "search", "aria-label": "Sessions" },
      h("label", { class: "filter-box" }, makeIcon("search"), this.#input, h("kbd", { "aria-hidden": "true" }, "/")),
      h(
        "div",
        { class: "filter-controls" },
        select("project"), select("agent"), select("model"), select("status"), select("tag"), select("since"),
        ...this.#marks.values(),
        this.#clear,
      ),
    );
  }

  #drawColumns() {
    const heads = COLUMNS.map(([sort, name, label]) => {
      const button = h("button", { class: `figure ${name}`, title: `Sort by ${(SORTS[sort] ?? "").toLowerCase()}`, onclick: () => this.#change({ ...this.#view, sort }) }, label);
      this.#columns.set(sort, button);
      return button;
    });
    return h(
      "div",
      { class: "session-columns", role: "group", "aria-label": "Sort by" },
      this.#group,
      h("div", { class: "session-figures" }, heads),
      h("span", { class: "session-actions" }),
    );
  }

  /**
   * @param {keyof View} name
   * @param {string} label
   */
  #addSelect(name, label) {
    const select = h("select", {
      "aria-label": label,
      // Another time also replaces the last day, which a link of another page set.
      onchange: () => this.#change({ ...this.#view, ...(name === "since" && { until: "" }), [name]: select.value }),
    });
    this.#selects.set(name, select);
  }

  /**
   * @param {string} value
   * @param {string} label
   */
  #addMark(value, label) {
    const toggle = () => this.#change({ ...this.#view, only: this.#view.only === value ? "" : value });
    this.#marks.set(value, h("button", { class: "chip", "aria-pressed": "false", onclick: toggle }, label));
  }

  /**
   * @param {FacetName} name
   * @param {Map<string, number>} counts
   * @param {(value: string) => string} format
   */
  #fillFacet(name, counts, format) {
    const value = this.#view[name];
    const values = new Map(counts);
    if (value && !values.has(value)) values.set(value, 0);
    const options = [...values].map(([each, count]) => /** @type {[string, string]} */ ([each, `${format(each)} (${formatNumber(count)})`]));
    options.sort((a, b) => a[1].localeCompare(b[1]));
    this.#fill(name, value, [["", FACET_LABELS[name]], ...options]);
    const select = this.#selects.get(name);
    if (select) select.hidden = name === "tag" && !values.size;
  }

  /**
   * @param {keyof View} name
   * @param {string} value
   * @param {[value: string, label: string][]} options
   */
  #fill(name, value, options) {
    const select = this.#selects.get(name);
    if (!select) return;
    const signature = JSON.stringify(options);
    if (select.dataset["options"] !== signature) {
      select.dataset["options"] = signature;
      select.replaceChildren(...options.map(([each, label]) => h("option", { value: each }, label)));
    }
    select.value = value;
    select.classList.toggle("on", value !== "" && name !== "group" && name !== "sort");
  }

  /** @param {View} view */
  #change(view) {
    this.#onChange(view);
  }

  /** @param {KeyboardEvent} event Escape empties the box, then leaves it. */
  #leaveInput(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (!this.#input.value) this.#input.blur();
    else this.#change({ ...this.#view, q: "" });
  }
}

/** @param {View} view */
function formatTimes({ since, until }) {
  if (!until) return `Since ${since}`;
  if (since === until) return since;
  return since ? `${since} to ${until}` : `Until ${until}`;
}
