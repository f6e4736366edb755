/** What the rows of the list look like. */

import { h } from "../../lib/dom.js";
import { formatCompact, formatCost, formatCount, formatDuration, formatNumber, formatTime, formatWhen } from "../../lib/format.js";
import { makeIcon } from "../../ui/icons.js";
import { getDuration, getGroup, getLastActive } from "./view.js";

/** @typedef {import("./items.js").ListItem} ListItem */
/** @typedef {import("./items.js").Subagent} Subagent */
/** @typedef {import("./store.js").Session} Session */
/** @typedef {import("./view.js").View} View */

/**
 * @typedef {object} RowContext
 * @property {() => View} getView
 * @property {(path: string) => string} shorten Shortens the path of a project.
 * @property {(session: Session) => void} toggle Shows or hides subagents.
 * @property {(session: Session) => void} star
 * @property {(session: Session) => void} edit Opens the editor of tags and note.
 */

/** @type {Record<string, string>} What an agent cannot go on without. */
const WAITING = { permission: "Needs your permission", question: "Asks you" };

/**
 * @param {ListItem} item
 * @param {RowContext} context
 * @returns {HTMLElement}
 */
export function drawItem(item, context) {
  const attributes = { role: "listitem", "data-key": item.key };
  switch (item.kind) {
    case "group":
      return drawGroup(item, attributes);
    case "session":
      return drawSession(item.session, item.isExpanded, attributes, context);
    case "subagent":
      return drawSubagent(item.subagent, attributes);
    case "note":
      return h("div", { class: "subagent-row note", ...attributes }, item.text);
  }
}

/** @param {string} model @returns {string} Without the date that ends many names. */
export function shortenModel(model) {
  return model.replace(/-\d{8}$/, "");
}

/**
 * @param {Extract<ListItem, { kind: "group" }>} group
 * @param {Record<string, string>} attributes
 */
function drawGroup({ label, hint, count, cost }, attributes) {
  return h(
    "div",
    { class: "session-group", ...attributes },
    h("h2", { title: hint || null }, label || "Unknown"),
    h("span", { class: "soft small" }, formatCount(count, "session"), cost ? ` · ${formatCost(cost)}` : ""),
  );
}

/**
 * @param {Session} session
 * @param {boolean} isExpanded
 * @param {Record<string, string>} attributes
 * @param {RowContext} context
 */
function drawSession(session, isExpanded, attributes, context) {
  return h(
    "div",
    { class: `session-row${session.isUnread ? " unread" : ""}`, ...attributes },
    drawMark(session),
    h(
      "div",
      { class: "session-text" },
      h("a", { class: "session-title clip", href: `/s/${encodeURIComponent(session.id)}` }, session.title || "Without a title"),
      drawAbout(session, context),
    ),
    h("div", { class: "session-figures" }, drawFigures(session, getGroup(context.getView()) === "day")),
    h("div", { class: "session-actions" }, drawExpander(session, isExpanded, context), drawEdit(session, context), drawStar(session, context)),
  );
}

/** @param {Session} session Of several states, the mark shows the most urgent one. */
function drawMark({ status, isUnread, waitingFor }) {
  const request = WAITING[waitingFor];
  const [state, text] = request ? ["waiting", request]
    : status === "active" ? ["live", "Works now"]
    : isUnread ? ["unread", "Unread"]
    : status === "idle" ? ["idle", "Waits for the next prompt"]
    : ["", ""];
  if (!state) return h("span", { class: "session-mark" });
  return h("span", { class: "session-mark", title: text }, h("i", { class: `dot ${state}` }), h("span", { class: "visually-hidden" }, text));
}

/**
 * @param {Session} session
 * @param {RowContext} context
 */
function drawAbout(session, { shorten }) {
  const { project, agent, model, tags, note, waitingFor, isHidden } = session;
  return h(
    "div",
    { class: "session-about" },
    waitingFor in WAITING && h("span", { class: "badge waiting" }, WAITING[waitingFor]),
    project && h("span", { class: "session-project clip", title: project }, shorten(project)),
    h("span", { class: "clip session-agent" }, agent),
    model && h("span", { class: "session-model clip", title: model }, shortenModel(model)),
    isHidden && h("span", { class: "badge" }, "nobody spoke"),
    tags.map((tag) => h("a", { class: "badge accent session-tag", href: `/?tag=${encodeURIComponent(tag)}`, title: "Only sessions with this tag" }, tag)),
    note && h("span", { class: "session-note clip", title: note }, note),
  );
}

/**
 * @param {Session} session
 * @param {boolean} isDayKnown Whether a heading names the day.
 */
function drawFigures(session, isDayKnown) {
  const { units, toolCalls, tokens, cost, startedMs, endedMs } = session;
  const active = getLastActive(session);
  const time = active ? new Date(active).toISOString() : null;
  const span = startedMs !== null && endedMs !== null ? `${formatFull(startedMs)} – ${formatFull(endedMs)}` : "";
  const view = isDayKnown ? formatTime(time) : formatWhen(time);
  return [
    drawFigure("when", view, "", span),
    drawFigure("duration", formatDuration(getDuration(session)), "from first to last entry"),
    drawFigure("units", formatNumber(units), units === 1 ? "prompt" : "prompts"),
    drawFigure("calls", formatNumber(toolCalls), toolCalls === 1 ? "tool call" : "tool calls"),
    drawFigure("tokens", formatCompact(tokens), "tokens", `${formatNumber(tokens)} tokens`),
    drawFigure("cost", formatCost(cost), ""),
  ];
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} unit What a screen reader says after the number.
 * @param {string} [hint]
 */
function drawFigure(name, text, unit, hint = "") {
  return h("span", { class: `figure ${name}`, title: hint || null }, text, unit && h("span", { class: "figure-unit" }, ` ${unit}`));
}

/**
 * @param {Session} session
 * @param {boolean} isExpanded
 * @param {RowContext} context
 */
function drawExpander(session, isExpanded, { toggle }) {
  if (!session.subagents) return null;
  const text = formatCount(session.subagents, "subagent");
  return h(
    "button",
    { class: "expander", "aria-expanded": String(isExpanded), "aria-label": `${text} of ${session.title}`, title: text, onclick: () => toggle(session) },
    makeIcon("threads"),
    h("span", {}, formatNumber(session.subagents)),
  );
}

/**
 * @param {Session} session
 * @param {RowContext} context
 */
function drawStar(session, { star }) {
  return h(
    "button",
    { class: "icon-button star", "aria-pressed": String(session.isStarred), "aria-label": `Star ${session.title}`, title: "Star", onclick: () => star(session) },
    makeIcon("star"),
  );
}

/**
 * @param {Session} session
 * @param {RowContext} context
 */
function drawEdit(session, { edit }) {
  return h(
    "button",
    { class: "icon-button edit-marks", "aria-label": `Tags and note of ${session.title}`, title: "Tags and note (e)", onclick: () => edit(session) },
    makeIcon("tag"),
  );
}

/**
 * @param {Subagent} subagent
 * @param {Record<string, string>} attributes
 */
function drawSubagent(subagent, attributes) {
  const { id, type, task, model, status, duration, toolCalls, tokens, cost, depth } = subagent;
  const row = h(
    "div",
    { class: "subagent-row", ...attributes },
    h(
      "div",
      { class: "session-text" },
      status === "active" && h("i", { class: "dot live" }),
      type && h("span", { class: "badge" }, type),
      h("a", { class: "session-title clip", href: `/s/${encodeURIComponent(id)}` }, task || id),
      model && h("span", { class: "session-model clip soft" }, shortenModel(model)),
    ),
    h(
      "div",
      { class: "session-figures" },
      drawFigure("when", "", ""),
      drawFigure("duration", formatDuration(duration), ""),
      drawFigure("units", "", ""),
      drawFigure("calls", formatNumber(toolCalls), "tool calls"),
      drawFigure("tokens", formatCompact(tokens), "tokens"),
      drawFigure("cost", formatCost(cost), ""),
    ),
    h("div", { class: "session-actions" }),
  );
  row.style.setProperty("--depth", String(depth));
  return row;
}

/** @param {number} time In milliseconds. */
function formatFull(time) {
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
