/** The history of one file: the calls that changed it, newest first. */

import { get } from "../../lib/api.js";
import { makeCopyButton } from "../../lib/copy.js";
import { h } from "../../lib/dom.js";
import { formatCount, formatTime, formatWhen } from "../../lib/format.js";
import { addShortcut } from "../../lib/keys.js";
import { onLive, onReconnect } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { makeSkeleton, showError } from "../../lib/states.js";
import { drawDiff, drawDiffstat } from "../../ui/diff.js";
import { getBaseName, makeAddress } from "./paths.js";

/**
 * @typedef {object} Revision
 * @property {"write" | "edit" | "append" | "delete" | "move"} kind
 * @property {"done" | "failed" | "unanswered"} outcome
 * @property {string} path
 * @property {string | null} moved_from
 * @property {string} agent
 * @property {string} session_id
 * @property {string | null} subagent_id
 * @property {string} session_title
 * @property {string} prompt
 * @property {string} entry_id
 * @property {string} tool
 * @property {string | null} at
 * @property {boolean} is_rewound
 * @property {import("../../ui/diff.js").DiffLine[]} diff
 * @property {number} omitted_lines
 * @property {number} added
 * @property {number} removed
 * @property {string | null} command
 * @property {string | null} error
 */

/**
 * @typedef {object} History
 * @property {string} path
 * @property {string} name
 * @property {string} project
 * @property {string[]} earlier_paths
 * @property {number} total
 * @property {number} changes
 * @property {number} failed
 * @property {number} sessions
 * @property {Revision[]} revisions
 */

const PAGE_SIZE = 50;
const KINDS = { write: "wrote", edit: "edited", append: "appended", delete: "deleted", move: "moved" };

/** @type {import("../../lib/router.js").Page} */
export async function showHistory({ root, query, signal }) {
  const path = query.get("path") ?? "";
  document.title = `${getBaseName(path)} · Files · leslied`;
  root.replaceChildren(makeSkeleton());
  const view = new HistoryView(root, path, signal);
  addShortcut("j", "Next change", () => view.move(1), signal);
  addShortcut("k", "Previous change", () => view.move(-1), signal);
  addShortcut("u", "Up to the list of files", () => view.leave(), signal);
  onLive((event) => { if (event.type === "sessions") void view.refresh(event.ids); }, signal);
  onReconnect(() => void view.load(), signal);
  await view.load();
}

class HistoryView {
  /**
   * @param {HTMLElement} root
   * @param {string} path
   * @param {AbortSignal} signal
   */
  constructor(root, path, signal) {
    this.root = root;
    this.path = path;
    this.signal = signal;
    this.project = "";
    this.total = -1;
    this.shown = 0;
    this.list = h("ol", { class: "revisions" });
    this.more = h("button", { class: "files-more", onclick: () => void this.showMore() }, "Show older changes");
  }

  async load() {
    try {
      const data = await this.ask(0, Math.max(this.shown, PAGE_SIZE));
      if (data.total === this.total) return;
      this.total = data.total;
      this.shown = data.revisions.length;
      this.project = data.project;
      this.list.replaceChildren(...drawRevisions(data.revisions));
      this.root.replaceChildren(h("div", { class: "history" }, drawHeader(data), this.list, this.more));
      this.updateMore();
    } catch (error) {
      showError(this.root, error);
    }
  }

  /**
   * @param {number} offset
   * @param {number} limit
   * @returns {Promise<History>}
   */
  ask(offset, limit) {
    return get("/files/history", { path: this.path, offset, limit }, this.signal);
  }

  /** @param {string[]} _ids Sessions that changed; any of them may change the file. */
  async refresh(_ids) {
    if (document.visibilityState === "visible") await this.load();
  }

  async showMore() {
    const data = await this.ask(this.shown, PAGE_SIZE);
    const items = drawRevisions(data.revisions);
    this.list.append(...items);
    this.shown += data.revisions.length;
    this.updateMore();
    items[0]?.querySelector("a")?.focus();
  }

  updateMore() {
    this.more.hidden = this.shown >= this.total;
  }

  /** @param {number} step */
  move(step) {
    const links = /** @type {HTMLAnchorElement[]} */ ([...this.list.querySelectorAll("a.revision-link")]);
    const current = links.findIndex((link) => link === document.activeElement);
    const next = current < 0 ? 0 : Math.min(Math.max(current + step, 0), links.length - 1);
    links[next]?.focus({ preventScroll: true });
    links[next]?.closest("li")?.scrollIntoView({ block: "start" });
  }

  leave() {
    go(makeAddress({ project: this.project }));
  }
}

/** @param {History} data */
function drawHeader(data) {
  const folders = data.name.startsWith("/") ? [] : data.name.split("/").slice(0, -1);
  const root = data.path.slice(0, data.path.length - data.name.length - 1);
  return h(
    "header",
    { class: "history-header" },
    h(
      "nav",
      { "aria-label": "Folders", class: "history-folders" },
      h("a", { href: makeAddress({ project: data.project }) }, getBaseName(data.project) || "Files"),
      folders.map((name, number) => {
        const folder = `${root}/${folders.slice(0, number + 1).join("/")}`;
        return [" / ", h("a", { href: makeAddress({ project: data.project, folder }) }, name)];
      }).flat(),
    ),
    h("h1", {}, getBaseName(data.path)),
    h(
      "p",
      { class: "history-about" },
      formatCount(data.changes, "change"),
      data.failed > 0 && ` and ${formatCount(data.failed, "failed attempt")}`,
      ` in ${formatCount(data.sessions, "session")}`,
      " · ",
      h("code", {}, data.path),
      " ",
      makeCopyButton(data.path, "Path"),
    ),
    data.earlier_paths.length > 0 && h("p", { class: "history-about" }, "Earlier: ", h("code", {}, data.earlier_paths.join(", "))),
  );
}

/**
 * Draw revisions; the prompt is shown once above those that it led to.
 *
 * @param {Revision[]} revisions
 */
function drawRevisions(revisions) {
  return revisions.map((revision, number) => {
    const previous = revisions[number - 1];
    const isSame = previous?.session_id === revision.session_id && previous.prompt === revision.prompt;
    return drawRevision(revision, isSame);
  });
}

/**
 * @param {Revision} revision
 * @param {boolean} isSamePrompt Whether the revision above has the same prompt.
 */
function drawRevision(revision, isSamePrompt) {
  const address = `/s/${encodeURIComponent(revision.session_id)}#entry-${revision.entry_id}`;
  const when = revision.at ? `${formatWhen(revision.at)}, ${formatTime(revision.at)}` : "no time";
  return h(
    "li",
    { class: revision.outcome === "done" && !revision.is_rewound ? "revision" : "revision without-effect" },
    !isSamePrompt && h("h2", { class: "revision-prompt" }, revision.prompt || revision.session_title),
    !isSamePrompt && revision.session_title && revision.session_title !== revision.prompt && h("p", { class: "revision-session" }, revision.session_title),
    h(
      "p",
      { class: "revision-about" },
      h("a", { class: "revision-link", href: address, "aria-label": `Open the call, ${when}` }, h("time", { datetime: revision.at }, when)),
      ` · ${revision.agent} ${KINDS[revision.kind]} it`,
      revision.subagent_id && " in a subagent",
      " · ",
      revision.added || revision.removed ? drawDiffstat(revision.added, revision.removed) : revision.tool,
      drawBadges(revision),
    ),
    revision.moved_from && h("p", { class: "revision-about" }, "Moved from ", h("code", {}, revision.moved_from)),
    revision.error && h("p", { class: "revision-error" }, revision.error),
    drawChange(revision, when),
  );
}

/** @param {Revision} revision */
function drawBadges({ outcome, is_rewound }) {
  return [
    outcome === "failed" && h("span", { class: "files-badge failed" }, "failed"),
    outcome === "unanswered" && h("span", { class: "files-badge" }, "no result"),
    is_rewound && h("span", { class: "files-badge" }, "taken back"),
  ];
}

/**
 * @param {Revision} revision
 * @param {string} when
 */
function drawChange({ diff, omitted_lines, command }, when) {
  if (command) {
    return h("pre", { class: "revision-command", tabindex: "0", "aria-label": "Command" }, command);
  }
  return h(
    "div",
    {},
    diff.length > 0 && drawDiff(diff, `Diff, ${when}`),
    omitted_lines > 0 && h("p", { class: "revision-about" }, `${formatCount(omitted_lines, "line")} more: open the call.`),
  );
}
