/** Cost, tokens or messages over time. */

import { h } from "../../lib/dom.js";
import { makeFigure, makeLegend } from "../../lib/charts/figure.js";
import { addDays, formatPeriod, formatTick as formatDayTick, parseDay, toDay } from "../../lib/charts/scale.js";
import { drawStackedBars } from "../../lib/charts/stacked-bars.js";
import { toQuery } from "../../lib/api.js";
import { formatCount, formatMeasure, formatNumber, formatTick, formatUsd, makeShortener } from "./numbers.js";
import { makeSessionsHref } from "./state.js";
import { makeTable } from "./tables.js";

/** @type {Record<import("./state.js").Measure, string>} */
const FIELDS = { cost: "cost_usd", tokens: "tokens", messages: "messages" };

/**
 * @param {any} timeline
 * @param {import("./state.js").State} state
 */
export function drawOverTime(timeline, state) {
  const { measure, split } = state;
  const series = listSeries(timeline, measure);
  const totals = timeline.periods.map((/** @type {string} */ _, /** @type {number} */ index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const chart = {
    summary: summarize(timeline, totals, measure),
    labels: timeline.periods,
    formatLabel: (/** @type {number} */ index, /** @type {number | undefined} */ previous) =>
      formatDayTick(timeline.periods[index], previous === undefined ? undefined : timeline.periods[previous]),
    formatTitle: (/** @type {number} */ index) => formatPeriod(timeline.periods[index], timeline.period),
    series: [...series].reverse(),
    formatValue: (/** @type {number} */ value) => formatMeasure(measure, value),
    formatTick: (/** @type {number} */ value) => formatTick(measure, value),
    getHref: (/** @type {number} */ index) => makePeriodHref(timeline, index, state),
  };
  return [
    makeFigure({
      name: `${measure} over time`,
      draw: (width) => drawStackedBars(chart, width),
      legend: makeLegend(series.map(({ name, color }) => [name, color])),
      table: drawTable(timeline, split),
      csv: `/api/stats/timeline.csv${toQuery({ ...state.filters, split, period: state.period })}`,
    }),
    timeline.outside_messages > 0 && h("p", { class: "note" },
      `${formatCount(timeline.outside_messages, "message")} without a time, or outside of this range, not drawn.`),
  ];
}

/**
 * Say which time the picture shows.
 *
 * @param {any} timeline
 */
export function describeRange({ periods, period }) {
  if (!periods.length) return "Nothing in this range.";
  const [first, last] = [periods[0], periods.at(-1)].map((each) => formatPeriod(each, period).replace("Week of ", ""));
  if (first === last) return `By ${period}: ${first}.`;
  return `By ${period}, from ${period === "week" ? "the week of " : ""}${first} to ${period === "week" ? "that of " : ""}${last}.`;
}

/**
 * @param {any} timeline
 * @param {import("./state.js").Measure} measure
 * @returns {{ name: string, color: string, values: number[] }[]} The largest first.
 */
function listSeries(timeline, measure) {
  const shorten = makeSeriesShortener(timeline);
  return timeline.series.map((/** @type {any} */ each, /** @type {number} */ index) => ({
    name: getName(each, timeline.split, shorten),
    color: each.is_rest ? "series-rest" : `series-${index + 1}`,
    values: each[FIELDS[measure]],
  }));
}

/** @param {any} timeline */
function makeSeriesShortener({ series }) {
  return makeShortener(series.map((/** @type {any} */ { key }) => key ?? ""));
}

/**
 * @param {any} series
 * @param {string} split
 * @param {(path: string) => string} shorten
 */
function getName({ key, is_rest: isRest }, split, shorten) {
  if (isRest) return `other ${split}s`;
  if (!key) return `no ${split}`;
  return split === "project" ? shorten(key) : key;
}

/**
 * @param {any} timeline
 * @param {number[]} totals
 * @param {import("./state.js").Measure} measure
 */
function summarize({ periods, period }, totals, measure) {
  const most = totals.indexOf(Math.max(...totals));
  const sum = totals.reduce((all, each) => all + each, 0);
  if (!periods.length) return "Nothing in this range.";
  return `${formatMeasure(measure, sum)} in ${formatCount(periods.length, period)}, ` +
    `the most in ${formatPeriod(periods[most], period)}: ${formatMeasure(measure, totals[most] ?? 0)}.`;
}

/**
 * @param {any} timeline
 * @param {number} index
 * @param {import("./state.js").State} state
 */
function makePeriodHref({ periods, period }, index, state) {
  const first = parseDay(periods[index]);
  const next = period === "month"
    ? new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1))
    : addDays(first, period === "week" ? 7 : 1);
  return makeSessionsHref(state, { since: toDay(first), until: toDay(addDays(next, -1)) });
}

/**
 * @param {any} timeline
 * @param {string} split
 */
function drawTable(timeline, split) {
  const { periods, period, series } = timeline;
  const shorten = makeSeriesShortener(timeline);
  const rows = periods.flatMap((/** @type {string} */ each, /** @type {number} */ index) =>
    series.filter((/** @type {any} */ { messages }) => messages[index]).map((/** @type {any} */ group) => ({
      when: formatPeriod(each, period),
      name: getName(group, split, shorten),
      cost: group.cost_usd[index],
      tokens: group.tokens[index],
      messages: group.messages[index],
    })));
  return makeTable(`Usage by ${period} and ${split}`, [
    { name: period, cell: (row) => row.when, isText: true },
    { name: split, cell: (row) => row.name, isText: true },
    { name: "cost", cell: (row) => formatUsd(row.cost) },
    { name: "tokens", cell: (row) => formatNumber(row.tokens) },
    { name: "messages", cell: (row) => formatNumber(row.messages) },
  ], rows.reverse());
}
