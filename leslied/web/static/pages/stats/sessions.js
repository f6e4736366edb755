/** How full context windows were, and the largest sessions. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { makeCsvLink, makeFigure } from "../../lib/charts/figure.js";
import { makeWholeTicks } from "../../lib/charts/scale.js";
import { drawStackedBars } from "../../lib/charts/stacked-bars.js";
import { formatDuration, formatWhen } from "../../lib/format.js";
import { formatCompact, formatCount, formatNumber, formatUsd, shortenPath } from "./numbers.js";
import { makeTable } from "./tables.js";

/**
 * @param {any} use
 * @param {import("./state.js").State} state
 */
export function drawContextUse(use, state) {
  const bins = use.bins.filter((/** @type {any} */ bin) => bin.up_to_percent || bin.sessions);
  const names = bins.map((/** @type {any} */ { above_percent: low, up_to_percent: high }) =>
    (high ? `${low}–${high} %` : `over ${low} %`));
  const counts = bins.map((/** @type {any} */ bin) => bin.sessions);
  const known = counts.reduce((/** @type {number} */ sum, /** @type {number} */ each) => sum + each, 0);
  const full = bins.reduce((/** @type {number} */ sum, /** @type {any} */ bin) =>
    sum + (bin.above_percent >= 80 ? bin.sessions : 0), 0);
  const chart = {
    summary: `${formatCount(known, "session")} by how full the window was at most; ${formatNumber(full)} above 80 %.`,
    labels: names,
    formatLabel: (/** @type {number} */ index) => names[index],
    formatTitle: (/** @type {number} */ index) => `${names[index]} of the window`,
    series: [{ name: "sessions", color: "series-1", values: counts }],
    formatValue: formatNumber,
    formatTick: formatCompact,
    ticks: makeWholeTicks(Math.max(...counts, 0)),
  };
  return [
    known > 0 && makeFigure({
      name: "sessions by use of the context window",
      draw: (width) => drawStackedBars(chart, width),
      table: makeTable("Sessions by use of the context window", [
        { name: "largest request", cell: (/** @type {number} */ index) => names[index], isText: true },
        { name: "sessions", cell: (/** @type {number} */ index) => formatNumber(counts[index]) },
      ], [...names.keys()]),
      csv: `/api/stats/context.csv${toQuery(state.filters)}`,
    }),
    use.unknown_sessions > 0 && h("p", { class: "note" },
      `${formatCount(use.unknown_sessions, "session")} with a model whose window is not known, not drawn.`),
    h("h3", {}, "Fullest windows"),
    drawFullest(use.rows),
  ];
}

/** @param {any[]} rows */
function drawFullest(rows) {
  return makeTable("Sessions with the fullest windows", [
    { name: "session", isText: true, cell: drawSessionLink },
    { name: "of the window", cell: (row) => (row.percent === null ? "unknown" : `${Math.round(row.percent)} %`) },
    { name: "largest request", cell: (row) => `${formatCompact(row.peak_tokens)} tokens` },
    { name: "window", cell: (row) => (row.window_tokens ? formatCompact(row.window_tokens) : "unknown") },
    { name: "model", cell: (row) => row.model, isText: true },
  ], rows);
}

/**
 * @param {any} stats
 * @param {import("./state.js").State} state
 */
export function drawTopSessions({ rows }, state) {
  const csv = `/api/stats/usage.csv${toQuery({ by: "session", order: state.order, limit: rows.length, ...state.filters })}`;
  return [
    makeTable(`Sessions with the largest ${state.order}`, [
      { name: "session", isText: true, cell: drawSessionLink },
      { name: "agent", cell: (row) => row.agent, isText: true },
      { name: "last message", cell: (row) => formatWhen(row.last_at) || "–" },
      { name: "duration", cell: formatLength },
      { name: "messages", cell: (row) => formatNumber(row.messages) },
      { name: "tokens", cell: (row) => formatCompact(row.total_tokens) },
      { name: "cost", cell: (row) => formatUsd(row.cost_usd, row.unpriced_messages) },
    ], rows),
    makeCsvLink("top sessions", csv),
  ];
}

/** @param {any} row */
function formatLength({ first_at: first, last_at: last }) {
  return first && last ? formatDuration(Date.parse(last) - Date.parse(first)) : "–";
}

/** @param {any} row */
function drawSessionLink({ session, title, project }) {
  return h(
    "span",
    { class: "session-cell" },
    h("a", { href: `/s/${encodeURIComponent(session)}` }, title || session),
    project && h("small", { title: project }, shortenPath(project)),
  );
}
