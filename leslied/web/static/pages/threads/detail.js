/** One thread: what it is for, its progress, its assets and who wrote them. */

import { get } from "../../lib/api.js";
import { h, parseServerHtml } from "../../lib/dom.js";
import { formatCount, formatTime, formatWhen } from "../../lib/format.js";
import { makeSkeleton, showError } from "../../lib/states.js";
import { drawProgress, findThread, makeAddress } from "./tree.js";

/** @typedef {import("./tree.js").Overview} Overview */
/** @typedef {import("./tree.js").State} State */
/** @typedef {import("./tree.js").Thread} Thread */
/** @typedef {import("./tree.js").Progress} Progress */

/**
 * @typedef {object} Call
 * @property {string} kind
 * @property {string} tool
 * @property {string} agent
 * @property {string} session_id
 * @property {string | null} at
 * @property {string | null} entry_id
 */

/**
 * @typedef {object} AssetFile
 * @property {string} type
 * @property {string} path
 * @property {string} title
 * @property {number} size
 * @property {string | null} updated_at
 * @property {boolean} [collected]
 * @property {boolean} [rewound]
 * @property {Call[]} [calls]
 * @property {AssetFile[]} [files]
 * @property {number} [left_out]
 */

/** @typedef {{ text: string, state: string, depth: number, reason?: string }} Item */
/** @typedef {{ thread: string, title: string | null, agent: string, session_id: string, assets: AssetFile[], progress: (Progress & { items: Item[] }) | null }} ThreadData */

const MARKS = { done: "✓", open: "○", blocked: "✕" };
const FEW_FILES = 8;

/**
 * Show the selected thread, or how to select one.
 *
 * @param {HTMLElement} root
 * @param {Overview} overview
 * @param {State} state
 * @param {AbortSignal} signal
 */
export async function showThread(root, overview, state, signal) {
  if (!state.thread) {
    root.replaceChildren(h("p", { class: "message-box" }, "A thread is the work of one session: its transcripts, and the plans, designs and notes that the agent wrote. Select one to read them."));
    return;
  }
  root.replaceChildren(makeSkeleton());
  try {
    /** @type {ThreadData} */
    const data = await get(`/threads/${encodeURIComponent(state.thread)}`, {}, signal);
    document.title = `${data.title ?? data.thread} · Threads · leslied`;
    const content = h("article", { class: "asset-content", "aria-label": "Asset", hidden: true });
    root.replaceChildren(drawHeader(data, overview, state), drawAssets(data, state), content);
    const path = state.asset || findFirstAsset(data);
    if (path) await showAsset(content, data.thread, path, signal);
  } catch (error) {
    showError(root, error);
  }
}

/**
 * @param {ThreadData} data
 * @param {Overview} overview
 * @param {State} state
 */
function drawHeader(data, overview, state) {
  const found = findThread(overview, data.thread);
  return h(
    "header",
    { class: "thread-header" },
    h("a", { class: "thread-back", href: makeAddress({ q: state.q }) }, "← All threads"),
    h("h1", {}, data.title || data.thread),
    found?.thread.objective && h("p", { class: "thread-objective" }, found.thread.objective),
    h(
      "p",
      { class: "soft small" },
      `${data.agent} · ${found ? `${found.thread.status} · ${formatWhen(found.thread.created_at)} · ` : ""}`,
      h("a", { href: `/s/${encodeURIComponent(data.session_id)}` }, "Read the session"),
    ),
    found && drawRelations(found.thread, found.parent, overview),
    data.progress && drawItems(data.progress),
  );
}

/**
 * @param {Thread} thread
 * @param {Thread | null} parent
 * @param {Overview} overview
 */
function drawRelations(thread, parent, overview) {
  /** @type {[string, Thread[]][]} */
  const rows = [
    ["Forked from", parent ? [parent] : []],
    ["Forks", thread.children],
    ["References", thread.references_to.flatMap((id) => findThread(overview, id)?.thread ?? [])],
  ];
  const shown = rows.filter(([, threads]) => threads.length);
  return shown.length > 0 && h("dl", { class: "facts small" }, shown.flatMap(([name, threads]) => [
    h("dt", {}, name),
    h("dd", {}, threads.flatMap((each, i) => [
      i > 0 ? ", " : "",
      h("a", { href: makeAddress({ thread: each.id }) }, each.title || each.id),
    ])),
  ]));
}

/** @param {Progress & { items: Item[] }} progress */
function drawItems(progress) {
  return h(
    "details",
    { class: "disclosure thread-items", open: progress.items.length <= 12 },
    h("summary", {}, drawProgress(progress)),
    h("ul", {}, progress.items.map(({ text, state, depth, reason }) => {
      const item = h(
        "li",
        { class: `item-${state}` },
        h("span", { "aria-hidden": "true" }, MARKS[/** @type {keyof typeof MARKS} */ (state)] ?? "○"),
        h("span", {}, h("span", { class: "visually-hidden" }, `${state}: `), text, reason && h("span", { class: "faint" }, ` (${reason})`)),
      );
      item.style.setProperty("--depth", String(Math.min(depth, 6)));
      return item;
    })),
  );
}

/**
 * @param {ThreadData} data
 * @param {State} state
 */
function drawAssets(data, state) {
  if (!data.assets.length) return h("p", { class: "soft" }, "This thread has no assets.");
  const shown = state.asset || findFirstAsset(data);
  return h(
    "div",
    { class: "assets" },
    sortAssets(data.assets).map((asset) => {
      const files = asset.files ?? [asset];
      return h(
        "details",
        { class: "disclosure", open: files.length <= FEW_FILES || files.some(({ path }) => path === shown) },
        h("summary", {}, h("h2", {}, nameType(asset.type)), h("span", { class: "faint small" }, formatCount(files.length, "file"))),
        h("ul", {}, files.map((file) => drawFile(file, data, state, shown))),
        asset.left_out ? h("p", { class: "faint small" }, `${formatCount(asset.left_out, "more file")} not listed.`) : null,
      );
    }),
  );
}

/**
 * @param {AssetFile} file
 * @param {ThreadData} data
 * @param {State} state
 * @param {string} shown
 */
function drawFile(file, data, state, shown) {
  return h(
    "li",
    {},
    h(
      "a",
      {
        href: makeAddress({ q: state.q, thread: data.thread, asset: file.path }),
        "aria-current": file.path === shown && "true",
        title: file.path,
      },
      file.title || file.path,
    ),
    file.rewound && h("span", { class: "badge" }, "taken back"),
    h("span", { class: "faint small" }, ` ${formatWhen(file.updated_at)}`, drawProvenance(file)),
  );
}

/** @param {AssetFile} file */
function drawProvenance({ calls, collected }) {
  const call = calls?.at(-1);
  if (!call) return "";
  const time = call.at ? ` at ${formatTime(call.at)}` : "";
  const text = `${collected ? "from" : "written by"} ${call.agent}, ${call.tool}${time}`;
  const address = `/s/${encodeURIComponent(call.session_id)}${call.entry_id ? `#entry-${call.entry_id}` : ""}`;
  return h("span", {}, " · ", h("a", { href: address }, text));
}

/**
 * Show an asset below the list.
 *
 * @param {HTMLElement} root
 * @param {string} thread
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function showAsset(root, thread, path, signal) {
  root.hidden = false;
  try {
    const asset = await get(`/threads/${encodeURIComponent(thread)}/asset`, { path }, signal);
    root.replaceChildren(
      h("p", { class: "asset-path" }, h("code", {}, asset.path)),
      asset.boxes && !path.endsWith("/progress.md") ? drawProgress({ percent: null, done: asset.ticked, open: asset.boxes - asset.ticked, blocked: 0 }) : "",
      parseServerHtml(asset.html),
      asset.is_cut ? h("p", { class: "soft" }, "The file is longer; open it in an editor to read the rest.") : "",
    );
    for (const block of root.querySelectorAll("pre")) block.tabIndex = 0;
    for (const item of root.querySelectorAll("li")) drawCheckbox(item);
  } catch (error) {
    showError(root, error);
  }
}

/**
 * Replace the brackets at the start of a task by a box.
 *
 * @param {HTMLLIElement} item
 */
function drawCheckbox(item) {
  const text = document.createTreeWalker(item, NodeFilter.SHOW_TEXT).nextNode();
  const match = text?.nodeValue && /^\s*\[([ xX])\]\s/.exec(text.nodeValue);
  if (!text || !match) return;
  const isDone = match[1] !== " ";
  text.nodeValue = (text.nodeValue ?? "").slice(match[0].length);
  item.classList.add("task");
  item.prepend(h("span", { class: "task-box", role: "img", "aria-label": isDone ? "done" : "open" }, isDone ? "☑" : "☐"), " ");
}

/**
 * Return the path of the asset that people want to read first: a plan, design or note.
 *
 * @param {ThreadData} data
 */
function findFirstAsset(data) {
  const written = sortAssets(data.assets)[0];
  return (written?.files?.at(-1) ?? written)?.path ?? "";
}

/**
 * Sort assets that the agent wrote before transcripts.
 *
 * @param {AssetFile[]} assets
 */
function sortAssets(assets) {
  const isTranscript = (/** @type {AssetFile} */ { type }) => Number(type === "transcript");
  return [...assets].sort((a, b) => isTranscript(a) - isTranscript(b));
}

/** @param {string} type */
function nameType(type) {
  const names = { plan: "Plan", progress: "Progress", design: "Design", learnings: "Learnings", discuss: "Discussion", transcript: "Transcripts" };
  return names[/** @type {keyof typeof names} */ (type)] ?? type;
}
