/** The list of sessions: grouped, filtered, and live. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { addShortcut } from "../lib/keys.js";
import { go, replaceQuery } from "../lib/router.js";
import { makeMessage, makeSkeleton, showError } from "../lib/states.js";
import { addUndoShortcut, openMarksEditor } from "../ui/marks_editor.js";
import { VirtualList } from "../lib/virtual_list.js";
import { buildItems, readSubagents } from "./sessions/items.js";
import { makeShortener } from "./sessions/paths.js";
import { drawItem } from "./sessions/rows.js";
import * as store from "./sessions/store.js";
import { Toolbar } from "./sessions/toolbar.js";
import { clearFilters, isDefault, isFiltered, readView, select, sort, toQuery } from "./sessions/view.js";

/** @typedef {import("./sessions/items.js").Expansion} Expansion */
/** @typedef {import("./sessions/items.js").ListItem} ListItem */
/** @typedef {import("./sessions/store.js").Session} Session */
/** @typedef {import("../lib/virtual_list.js").Anchor} Anchor */
/** @typedef {{ anchor: Anchor | null, selected: string }} Place What the history remembers. */

const SAVE_PLACE_MS = 250;

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, query, signal }) {
  document.title = "Sessions · leslied";
  const page = new SessionsPage(root, query, signal);
  try {
    await page.load();
  } catch (error) {
    if (!signal.aborted) showError(root, error);
  }
}

class SessionsPage {
  /** Key of the row that keys act on. */
  #selected = "";
  /** @type {Map<string, Expansion>} */
  #expansions = new Map();
  /** @type {Place | null} */
  #place = history.state?.sessions ?? null;
  #list = h("div", { class: "session-list", role: "list", "aria-label": "Sessions" });
  #message = h("div", {}, makeSkeleton());
  #shorten = makeShortener([]);
  /** @type {number[]} Positions of the headings of groups. */
  #headings = [];
  #timer = 0;

  /**
   * @param {HTMLElement} root
   * @param {URLSearchParams} query
   * @param {AbortSignal} signal
   */
  constructor(root, query, signal) {
    this.view = readView(query);
    this.toolbar = new Toolbar(this.view, (view) => this.#changeView(view));
    const context = {
      getView: () => this.view,
      shorten: (/** @type {string} */ path) => this.#shorten(path),
      toggle: (/** @type {Session} */ session) => void this.#toggle(session),
      star: (/** @type {Session} */ session) => void store.star(session),
      edit: editMarks,
    };
    this.rows = new VirtualList(this.#list, (/** @type {ListItem} */ item) => this.#draw(item, context), signal);
    root.replaceChildren(h("div", { class: "page sessions" }, this.toolbar.header, this.toolbar.element, this.#message, this.#list));
    store.onChange((changed) => this.#update(changed), signal);
    this.#addListeners(signal);
    this.#addShortcuts(signal);
  }

  async load() {
    if (store.getState().isComplete) this.#update(new Set());
    await store.load(isDefault(this.view));
  }

  /** @param {Set<string>} changed Keys of sessions, whose rows may move. */
  #update(changed) {
    const sessions = store.listSessions();
    const { isComplete } = store.getState();
    if (!isComplete && !isDefault(this.view)) return;
    const projects = new Set(sessions.map(({ project }) => project).filter(Boolean));
    this.#shorten = makeShortener(projects);
    const { selected, facets, total, hidden } = select(sessions, this.view);
    const shownProjects = new Set(selected.map(({ project }) => project).filter(Boolean)).size;
    const counts = { selected: selected.length, total, hidden, projects: shownProjects, isComplete };
    this.toolbar.update(this.view, facets, counts, this.#shorten);
    this.#measure();
    const items = buildItems(sort(selected, this.view.sort), this.view, this.#expansions, this.#readHeights(), this.#shorten);
    this.rows.setItems(items, (key) => !changed.has(key));
    this.#headings = items.flatMap((item, i) => item.kind === "group" ? [i] : []);
    this.#showGroup();
    this.#showMessage(items.length, total);
    if (isComplete) this.#restorePlace();
  }

  /**
   * @param {number} count
   * @param {number} total
   */
  #showMessage(count, total) {
    this.#list.hidden = !count;
    if (count) this.#message.replaceChildren();
    else if (total && isFiltered(this.view)) this.#message.replaceChildren(this.#drawNoMatch());
    else this.#message.replaceChildren(makeMessage("No sessions yet", "Use a coding agent, then run `leslied sync`. Run `leslied agents` to see which logs are read."));
  }

  #drawNoMatch() {
    const box = makeMessage("No session matches", "Titles, projects, agents, models and ids are looked at, not what was said.");
    const clear = () => this.#changeView(clearFilters(this.view));
    box.append(h("button", { class: "button primary", onclick: clear }, "Clear filters"));
    return box;
  }

  /** @param {import("./sessions/view.js").View} view */
  #changeView(view) {
    this.view = view;
    replaceQuery(toQuery(view));
    this.#place = null;
    const { top } = this.#list.getBoundingClientRect();
    this.#update(new Set());
    // The first of the results is at the top, below the controls.
    if (top < this.rows.coveredTop) scrollBy({ top: this.#list.getBoundingClientRect().top - this.rows.coveredTop, behavior: "instant" });
  }

  /** Show the group of the first visible row while its heading is out of sight. */
  #showGroup() {
    const first = this.rows.findFirstVisible();
    const heading = this.rows.items[this.#headings.findLast((index) => index <= first) ?? -1];
    const isHidden = heading?.kind === "group" && heading !== this.rows.items[first];
    this.toolbar.showGroup(isHidden ? heading.label : "");
  }

  /** Measure what covers the list at the top of the window. */
  #measure() {
    const shell = document.querySelector("#shell")?.getBoundingClientRect().height ?? 0;
    const isSticky = getComputedStyle(this.toolbar.element).position === "sticky";
    this.rows.coveredTop = shell + (isSticky ? this.toolbar.element.getBoundingClientRect().height : 0);
  }

  #readHeights() {
    const style = getComputedStyle(this.#list);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const read = (/** @type {string} */ name) => Math.round(parseFloat(style.getPropertyValue(name)) * rem);
    return { group: read("--group-height"), session: read("--session-height"), subagent: read("--subagent-height") };
  }

  /**
   * @param {ListItem} item
   * @param {import("./sessions/rows.js").RowContext} context
   */
  #draw(item, context) {
    const row = drawItem(item, context);
    row.classList.toggle("selected", item.key === this.#selected);
    return row;
  }

  /** @param {Session} session */
  async #toggle(session) {
    if (this.#expansions.delete(session.key)) return this.#update(new Set());
    this.#expansions.set(session.key, "Loading…");
    this.#update(new Set());
    this.#expansions.set(session.key, await loadSubagents(session));
    this.#update(new Set());
  }

  /** @param {AbortSignal} signal */
  #addListeners(signal) {
    history.scrollRestoration = "manual";
    addEventListener("scroll", () => this.#showGroup(), { passive: true, signal });
    addEventListener("scroll", () => this.#savePlaceSoon(), { passive: true, signal });
    addEventListener("resize", () => this.#update(new Set()), { signal });
    // The place is saved before a link leads away from it.
    this.#list.addEventListener("click", () => this.#savePlace(), { capture: true, signal });
    this.#list.addEventListener("focusin", (event) => {
      const row = event.target instanceof Element ? event.target.closest("[data-key]") : null;
      if (row) this.#mark(row.getAttribute("data-key") ?? "");
    }, { signal });
    signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      history.scrollRestoration = "auto";
    });
  }

  /** @param {AbortSignal} signal */
  #addShortcuts(signal) {
    addShortcut("j", "Next session", () => this.#move(1), signal);
    addShortcut("k", "Previous session", () => this.#move(-1), signal);
    addShortcut("g", "First session", () => this.#selectAt(0, 1), signal);
    addShortcut("G", "Last session", () => this.#selectAt(this.rows.items.length - 1, -1), signal);
    addShortcut("Enter", "Open the session", () => this.#open(), signal);
    addShortcut("x", "Show or hide subagents", () => this.#withSelected((session) => void this.#toggle(session)), signal);
    addShortcut("s", "Add or remove the star", () => this.#withSelected((session) => void store.star(session)), signal);
    addShortcut("e", "Edit tags and note", () => this.#withSelected(editMarks), signal);
    addUndoShortcut(signal);
    addShortcut("u", "Mark as unread or read", () => this.#withSelected((session) => void store.toggleUnread(session)), signal);
    addShortcut("/", "Filter sessions", () => this.toolbar.focus(), signal);
  }

  /** @param {1 | -1} step */
  #move(step) {
    const index = this.rows.findIndex(this.#selected);
    if (index >= 0) this.#selectAt(index + step, step);
    else this.#selectAt(this.rows.findFirstVisible(), 1);
  }

  /**
   * Select the row at a position, or the next one in this direction that can be opened.
   *
   * @param {number} index
   * @param {1 | -1} step
   */
  #selectAt(index, step) {
    const { items } = this.rows;
    while (items[index] && items[index]?.kind !== "session" && items[index]?.kind !== "subagent") index += step;
    const item = items[index];
    if (!item) return;
    // With the first session, its heading is shown, too.
    if (items[index - 1]?.kind === "group") this.rows.reveal(index - 1);
    const row = this.rows.reveal(index);
    this.#mark(item.key);
    row?.querySelector("a")?.focus({ preventScroll: true });
  }

  /** @param {string} key */
  #mark(key) {
    this.rows.findElement(this.#selected)?.classList.remove("selected");
    this.#selected = key;
    this.rows.findElement(key)?.classList.add("selected");
  }

  #open() {
    const link = this.rows.findElement(this.#selected)?.querySelector("a");
    if (!link) return;
    this.#savePlace();
    go(link.href);
  }

  /** @param {(session: Session) => void} act */
  #withSelected(act) {
    const item = this.rows.items[this.rows.findIndex(this.#selected)];
    if (item?.kind === "session") act(item.session);
  }

  #savePlaceSoon() {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#savePlace();
    }, SAVE_PLACE_MS);
  }

  /** Remember the place of the reader in the history, for the way back. */
  #savePlace() {
    if (!store.getState().isComplete) return;
    const anchor = scrollY > 0 ? this.rows.findAnchor() : null;
    const sessions = { anchor, selected: this.#selected };
    history.replaceState({ ...history.state, sessions }, "");
  }

  #restorePlace() {
    const place = this.#place;
    this.#place = null;
    if (!place) return;
    if (place.anchor) this.rows.restoreAnchor(place.anchor);
    this.#mark(place.selected);
    this.rows.findElement(place.selected)?.querySelector("a")?.focus({ preventScroll: true });
  }
}

/** @param {Session} session */
function editMarks({ id, title }) {
  void openMarksEditor(id, title);
}

/**
 * @param {Session} session
 * @returns {Promise<Expansion>}
 */
async function loadSubagents(session) {
  try {
    const data = await get(`/sessions/${encodeURIComponent(session.id)}/subagents`);
    const subagents = readSubagents(data.subagents);
    return subagents.length ? subagents : "Its subagents are not in the store any more.";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
