/** Usage by project, model and agent, and calls by tool. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { drawBars } from "../../lib/charts/bars.js";
import { makeFigure, makeLegend } from "../../lib/charts/figure.js";
import { formatDuration } from "../../lib/format.js";
import {
  formatCompact, formatCount, formatMeasure, formatNumber, formatPercent, formatUsd, getMeasure, makeShortener,
} from "./numbers.js";
import { makeSessionsHref, makeStatsHref } from "./state.js";
import { makeTable } from "./tables.js";

const MAX_BARS = 8;

/**
 * @param {any} stats
 * @param {"project" | "model" | "agent"} by
 * @param {import("./state.js").State} state
 */
export function drawGroups({ rows }, by, state) {
  const { measure } = state;
  const sorted = [...rows].sort((a, b) => getMeasure(b, measure) - getMeasure(a, measure));
  const total = sorted.reduce((sum, row) => sum + getMeasure(row, measure), 0);
  const shorten = makeShortener(sorted.map(({ key }) => key ?? ""));
  const bars = sorted.slice(0, MAX_BARS).map((row) => ({
    name: getName(row.key, by, shorten),
    title: row.key || `no ${by}`,
    value: getMeasure(row, measure),
    label: formatLabel(row, measure),
    values: [
      { name: "share", value: formatPercent(getMeasure(row, measure), total) },
      { name: "cost", value: formatUsd(row.cost_usd, row.unpriced_messages) },
      { name: "tokens", value: formatCompact(row.total_tokens) },
      { name: "messages", value: formatNumber(row.messages) },
      { name: "sessions", value: formatNumber(row.sessions) },
    ],
    href: row.key ? makeStatsHref(state, { [by]: row.key }) : undefined,
  }));
  const more = sorted.length - bars.length;
  return [
    makeFigure({
      name: `${measure} by ${by}`,
      draw: (width) => drawBars({
        summary: `${formatCount(rows.length, by)}. ${bars.slice(0, 3).map((bar) => `${bar.name}: ${bar.label}`).join(", ")}.`,
        rows: bars,
        color: "series-1",
      }, width),
      table: drawGroupTable(sorted, by, state),
      csv: `/api/stats/usage.csv${toQuery({ by, ...state.filters })}`,
    }),
    more > 0 && h("p", { class: "note" }, `${formatCount(more, `more ${by}`)} in the numbers below the picture.`),
  ];
}

/**
 * @param {any} row
 * @param {import("./state.js").Measure} measure
 */
function formatLabel(row, measure) {
  if (measure === "cost") return formatUsd(row.cost_usd, row.unpriced_messages);
  return formatMeasure(measure, getMeasure(row, measure)).replace(/ (tokens|messages?)$/, "");
}

/**
 * @param {string | null} key
 * @param {string} by
 * @param {(path: string) => string} shorten
 */
function getName(key, by, shorten) {
  if (!key) return `no ${by}`;
  return by === "project" ? shorten(key) : key;
}

/**
 * @param {any[]} rows
 * @param {"project" | "model" | "agent"} by
 * @param {import("./state.js").State} state
 */
function drawGroupTable(rows, by, state) {
  const shorten = makeShortener(rows.map(({ key }) => key ?? ""));
  return makeTable(`Usage by ${by}`, [
    {
      name: by,
      isText: true,
      cell: (row) => (row.key
        ? h("a", { href: makeStatsHref(state, { [by]: row.key }), title: row.key }, getName(row.key, by, shorten))
        : getName(null, by, shorten)),
    },
    {
      name: "sessions",
      cell: (row) => (row.key
        ? h("a", { href: makeSessionsHref(state, { [by]: row.key }) }, formatNumber(row.sessions))
        : formatNumber(row.sessions)),
    },
    { name: "messages", cell: (row) => formatNumber(row.messages) },
    { name: "tokens", cell: (row) => formatNumber(row.total_tokens) },
    { name: "cost", cell: (row) => formatUsd(row.cost_usd, row.unpriced_messages) },
  ], rows);
}

/**
 * @param {any} stats
 * @param {import("./state.js").State} state
 */
export function drawTools({ rows }, state) {
  if (!rows.length) return h("p", { class: "note" }, "No tool was called.");
  const bars = rows.slice(0, MAX_BARS).map((/** @type {any} */ row) => ({
    name: row.tool,
    title: row.tool,
    value: row.calls,
    part: row.failed,
    label: `${formatNumber(row.calls)} · ${formatPercent(row.failed, row.calls)} failed`,
    values: [
      { name: "calls", value: formatNumber(row.calls) },
      { name: "failed", value: `${formatNumber(row.failed)} (${formatPercent(row.failed, row.calls)})` },
      { name: "median time", value: formatSeconds(row.median_seconds) },
      { name: "95 % within", value: formatSeconds(row.p95_seconds) },
    ],
    href: makeToolHref(row.tool),
  }));
  const most = bars[0];
  return makeFigure({
    name: "calls by tool",
    draw: (width) => drawBars({
      summary: `${formatCount(rows.length, "tool")}, most calls: ${most.name}, ${most.label}.`,
      rows: bars,
      color: "series-1",
      partColor: "failed",
    }, width),
    legend: makeLegend([["calls", "series-1"], ["failed", "failed"]]),
    table: drawToolTable(rows),
    csv: `/api/stats/usage.csv${toQuery({ by: "tool", ...state.filters })}`,
  });
}

/** @param {any[]} rows */
function drawToolTable(rows) {
  return makeTable("Calls by tool", [
    { name: "tool", isText: true, cell: (row) => h("a", { href: makeToolHref(row.tool) }, row.tool) },
    { name: "calls", cell: (row) => formatNumber(row.calls) },
    {
      name: "failed",
      cell: (row) => (row.failed
        ? h("a", { href: makeToolHref(row.tool, "is:error") }, formatNumber(row.failed))
        : "0"),
    },
    { name: "failure rate", cell: (row) => formatPercent(row.failed, row.calls) },
    { name: "no result", cell: (row) => formatNumber(row.unanswered) },
    { name: "median", cell: (row) => formatSeconds(row.median_seconds) },
    { name: "95 %", cell: (row) => formatSeconds(row.p95_seconds) },
    { name: "slowest", cell: drawSlowest },
    { name: "total", cell: (row) => formatSeconds(row.total_seconds) },
    { name: "sessions", cell: (row) => formatNumber(row.sessions) },
  ], rows);
}

/** @param {any} row */
function drawSlowest({ slowest, max_seconds: seconds }) {
  if (!slowest) return "–";
  const { session_id: session, entry_id: entry } = slowest;
  return h("a", { href: `/s/${encodeURIComponent(session)}#${entry}` }, formatSeconds(seconds));
}

/** @param {number | null} seconds */
function formatSeconds(seconds) {
  return seconds === null ? "–" : formatDuration(seconds * 1000);
}

/**
 * @param {string} tool
 * @param {string} [more]
 */
function makeToolHref(tool, more = "") {
  const filter = /^[\w.:-]+$/.test(tool) ? `tool:${tool}` : `tool:"${tool.replaceAll('"', "")}"`;
  return `/search${toQuery({ q: `${filter} ${more}`.trim() })}`;
}
