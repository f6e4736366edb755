/** The list of changed files, narrowed by project, folder and words. */

import { get } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatWhen } from "../../lib/format.js";
import { addShortcut } from "../../lib/keys.js";
import { onLive, onReconnect } from "../../lib/live.js";
import { go, replaceQuery } from "../../lib/router.js";
import { makeMessage, makeSkeleton, showError } from "../../lib/states.js";
import { drawPath, getBaseName, makeAddress, nameFolders } from "./paths.js";

/**
 * @typedef {object} ChangedFile
 * @property {string} path
 * @property {string} name
 * @property {string} project
 * @property {number} changes
 * @property {number} failed
 * @property {number} sessions
 * @property {string[]} agents
 * @property {string | null} last_at
 * @property {string} last_agent
 * @property {boolean} is_deleted
 */

/** @typedef {{ path: string, files: number }} FileGroup */

/**
 * @typedef {object} FileList
 * @property {ChangedFile[]} files
 * @property {number} total
 * @property {FileGroup[]} projects
 * @property {string} folder
 * @property {FileGroup[]} folders
 */

/** @typedef {{ q: string, project: string, folder: string, sort: string }} Filter */

const PAGE_SIZE = 200;
const MAX_FILES = 5000;
const TYPING_MILLISECONDS = 80;
const REFRESH_MILLISECONDS = 1000;

/** @type {import("../../lib/router.js").Page} */
export async function showList({ root, query, signal }) {
  document.title = "Files · leslied";
  const list = new FileListView(query, signal);
  root.replaceChildren(list.element);
  addShortcut("/", "Filter files", () => list.input.focus(), signal);
  addShortcut("j", "Next file", () => list.move(1), signal);
  addShortcut("k", "Previous file", () => list.move(-1), signal);
  addShortcut("Escape", "Leave the filter", () => list.leaveFilter(), signal);
  onLive((event) => { if (event.type === "sessions") list.refreshSoon(); }, signal);
  onReconnect(() => list.refreshSoon(), signal);
  await list.load();
}

class FileListView {
  /**
   * @param {URLSearchParams} query
   * @param {AbortSignal} signal
   */
  constructor(query, signal) {
    this.signal = signal;
    /** @type {Filter} */
    this.filter = {
      q: query.get("q") ?? "",
      project: query.get("project") ?? "",
      folder: query.get("folder") ?? "",
      sort: query.get("sort") ?? "",
    };
    this.limit = PAGE_SIZE;
    this.requests = 0;
    /** @type {Map<string, string>} Short names of projects. */
    this.names = new Map();
    this.timer = 0;
    this.input = h("input", {
      type: "search",
      "aria-label": "Filter by words of the path",
      placeholder: "Filter by path",
      spellcheck: "false",
      autocomplete: "off",
      value: this.filter.q,
      oninput: () => this.setWords(this.input.value),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.leaveByKey(event),
    });
    this.sort = this.drawSort();
    this.count = h("h1", { "aria-live": "polite" }, "Files");
    this.side = h("nav", { class: "files-side", "aria-label": "Projects and folders" });
    this.results = h("div", { class: "files-results" }, makeSkeleton());
    this.element = h(
      "div",
      { class: "files-page" },
      h("div", { class: "files-bar" }, this.count, this.input, this.sort),
      this.side,
      this.results,
    );
  }

  drawSort() {
    const options = [["", "Last changed"], ["changes", "Most changed"], ["path", "Path"]];
    return h(
      "select",
      {
        "aria-label": "Sort",
        onchange: (/** @type {Event} */ event) => {
          this.change({ sort: /** @type {HTMLSelectElement} */ (event.target).value });
        },
      },
      options.map(([value, name]) => (
        h("option", { value, selected: value === this.filter.sort }, name)
      )),
    );
  }

  /** @param {string} words */
  setWords(words) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.change({ q: words }), TYPING_MILLISECONDS);
  }

  /** @param {Partial<Filter>} values */
  change(values) {
    Object.assign(this.filter, values);
    this.limit = PAGE_SIZE;
    replaceQuery(this.filter);
    void this.load();
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), REFRESH_MILLISECONDS);
  }

  async load() {
    const request = ++this.requests;
    this.results.setAttribute("aria-busy", "true");
    try {
      const params = { ...this.filter, limit: this.limit };
      /** @type {FileList} */
      const data = await get("/files", params, this.signal);
      // An answer that comes after the next one would show what was typed before.
      if (request === this.requests && !this.signal.aborted) this.draw(data);
    } catch (error) {
      if (request === this.requests) showError(this.results, error);
    }
    this.results.removeAttribute("aria-busy");
  }

  /** @param {FileList} data */
  draw(data) {
    const selected = this.results.querySelector("a:focus")?.getAttribute("href");
    this.names = nameFolders(data.projects.map(({ path }) => path));
    this.count.textContent = formatCount(data.total, "file");
    this.side.replaceChildren(...this.drawSide(data));
    this.results.replaceChildren(data.files.length ? this.drawTable(data) : this.drawEmpty());
    if (selected) this.links.find((link) => link.getAttribute("href") === selected)?.focus();
  }

  drawEmpty() {
    const { q, project, folder } = this.filter;
    if (!q && !project && !folder) {
      return makeMessage("No changed files yet", "When an agent edits a file, it is listed here with every diff.");
    }
    return makeMessage(
      "No file matches",
      h("button", { onclick: () => go("/files") }, "Show all files"),
    );
  }

  /**
   * @param {FileList} data
   * @returns {HTMLElement[]}
   */
  drawSide(data) {
    const { project, q, sort } = this.filter;
    const groups = [
      this.drawGroup("Projects", [
        this.drawGroupLink("All projects", { q, sort }, !project),
        ...data.projects.map(({ path, files }) => (
          this.drawGroupLink(this.nameProject(path), { q, sort, project: path }, path === project, files, path)
        )),
      ], !project),
    ];
    if (project && (data.folders.length || this.filter.folder)) {
      groups.push(this.drawGroup(getBaseName(data.folder), this.drawFolders(data), true));
    }
    return groups;
  }

  /** @param {string} path */
  nameProject(path) {
    return (this.names.get(path) ?? getBaseName(path)) || "No project";
  }

  /** @param {FileList} data */
  drawFolders(data) {
    const { project, folder, q, sort } = this.filter;
    const parent = folder.slice(0, folder.lastIndexOf("/"));
    const up = parent.length > project.length ? parent : "";
    return [
      folder && this.drawGroupLink("↑ Up", { q, sort, project, folder: up }, false),
      ...data.folders.map(({ path, files }) => (
        this.drawGroupLink(`${getBaseName(path)}/`, { q, sort, project, folder: path }, false, files, path)
      )),
    ];
  }

  /**
   * @param {string} title
   * @param {(HTMLElement | string)[]} links
   * @param {boolean} isOpen
   */
  drawGroup(title, links, isOpen) {
    const isWide = matchMedia("(min-width: 56rem)").matches;
    return h(
      "details",
      { open: isWide || (isOpen && links.length < 6) },
      h("summary", {}, title),
      h("ul", {}, links.map((link) => link && h("li", {}, link))),
    );
  }

  /**
   * @param {string} name
   * @param {Partial<Filter>} query
   * @param {boolean} isCurrent
   * @param {number} [files]
   * @param {string} [title]
   */
  drawGroupLink(name, query, isCurrent, files, title) {
    return h(
      "a",
      { href: makeAddress(query), title, "aria-current": isCurrent && "true" },
      h("span", {}, name),
      files !== undefined && h("span", { class: "number" }, formatNumber(files)),
    );
  }

  /** @param {FileList} data */
  drawTable(data) {
    const isMore = data.files.length < data.total && this.limit < MAX_FILES;
    return h(
      "div",
      {},
      h(
        "table",
        {},
        h("caption", { class: "visually-hidden" }, "Changed files"),
        h("thead", {}, h(
          "tr",
          {},
          h("th", { scope: "col" }, "File"),
          h("th", { scope: "col", class: "number" }, "Changes"),
          h("th", { scope: "col", class: "number files-minor" }, "Sessions"),
          h("th", { scope: "col", class: "files-minor" }, "Agent"),
          h("th", { scope: "col", class: "number" }, "Last"),
        )),
        h("tbody", {}, data.files.map((file) => this.drawRow(file))),
      ),
      isMore && h("button", { class: "files-more", onclick: () => this.showMore() }, `Show more of ${formatNumber(data.total)}`),
    );
  }

  /** @param {ChangedFile} file */
  drawRow(file) {
    const { project } = this.filter;
    return h(
      "tr",
      {},
      h(
        "td",
        {},
        h("a", { href: makeAddress({ path: file.path, project: file.project }), title: file.path }, drawPath(file.name)),
        file.is_deleted && h("span", { class: "files-badge" }, "deleted"),
        !project && h("span", { class: "files-project" }, this.nameProject(file.project)),
      ),
      h(
        "td",
        { class: "number" },
        formatNumber(file.changes),
        file.failed > 0 && h("span", { class: "files-failed" }, ` +${formatNumber(file.failed)} failed`),
      ),
      h("td", { class: "number files-minor" }, formatNumber(file.sessions)),
      h("td", { class: "files-minor" }, file.last_agent),
      h("td", { class: "number" }, h("time", { datetime: file.last_at }, formatWhen(file.last_at))),
    );
  }

  showMore() {
    this.limit = Math.min(this.limit * 4, MAX_FILES);
    void this.load();
  }

  get links() {
    return /** @type {HTMLAnchorElement[]} */ ([...this.results.querySelectorAll("tbody a")]);
  }

  /** @param {number} step */
  move(step) {
    const links = this.links;
    const current = links.findIndex((link) => link === document.activeElement);
    const next = current < 0 ? 0 : Math.min(Math.max(current + step, 0), links.length - 1);
    links[next]?.focus();
    links[next]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  leaveByKey(event) {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    this.move(0);
  }

  leaveFilter() {
    if (document.activeElement === this.input) this.input.blur();
    else if (this.filter.q) {
      this.input.value = "";
      this.change({ q: "" });
    }
  }
}
