/** When the agents worked: a calendar of days, and the hours of the week. */

import { toQuery } from "../../lib/api.js";
import { makeFigure } from "../../lib/charts/figure.js";
import { drawHeatMap, makeHeatLegend } from "../../lib/charts/heat-map.js";
import { addDays, formatLongDay, parseDay, toDay } from "../../lib/charts/scale.js";
import { formatCount, formatNumber, formatUsd } from "./numbers.js";
import { makeSessionsHref } from "./state.js";
import { makeTable } from "./tables.js";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LEFT = 36;
const MIN_CELL = 12;
const MAX_CELL = 20;
const MAX_WEEKS = 53;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });

/**
 * @param {any[]} allRows Usage by day; messages without a time have no key.
 * @param {import("./state.js").State} state
 */
export function drawCalendar(allRows, state) {
  const rows = allRows.filter(({ key }) => key);
  const most = rows.reduce((a, b) => (b.messages > a.messages ? b : a), rows[0]);
  const summary = `${formatCount(rows.length, "day")} with messages, ` +
    `the most on ${formatLongDay(most.key)}: ${formatCount(most.messages, "message")}.`;
  return makeFigure({
    name: "messages by day",
    draw: (width) => drawHeatMap(makeCalendar(rows, width, summary, state), width),
    legend: makeHeatLegend(formatCount(most.messages, "message")),
    table: makeTable("Usage by day", [
      { name: "day", cell: (row) => formatLongDay(row.key), isText: true },
      { name: "messages", cell: (row) => formatNumber(row.messages) },
      { name: "sessions", cell: (row) => formatNumber(row.sessions) },
      { name: "tokens", cell: (row) => formatNumber(row.total_tokens) },
      { name: "cost", cell: (row) => formatUsd(row.cost_usd, row.unpriced_messages) },
    ], [...rows].reverse()),
    csv: `/api/stats/usage.csv${toQuery({ by: "day", ...state.filters })}`,
  });
}

/**
 * Lay out the latest weeks that fit, Monday on top.
 *
 * @param {any[]} rows
 * @param {number} width
 * @param {string} summary
 * @param {import("./state.js").State} state
 * @returns {import("../../lib/charts/heat-map.js").HeatMap}
 */
function makeCalendar(rows, width, summary, state) {
  const byDay = new Map(rows.map((row) => [row.key, row]));
  const last = parseDay(rows.at(-1).key);
  const fitting = Math.min(Math.floor((width - LEFT) / MIN_CELL), MAX_WEEKS);
  const monday = addDays(last, -((last.getUTCDay() + 6) % 7));
  const first = addDays(monday, -7 * (fitting - 1));
  const days = Array.from({ length: Math.round((last.getTime() - first.getTime()) / 86_400_000) + 1 },
    (_, index) => toDay(addDays(first, index)));
  return {
    summary,
    cells: days.map((day, index) => makeDayCell(day, index, byDay.get(day), state)),
    rowLabels: WEEKDAYS.map((name, index) => (index % 2 ? "" : name)),
    columnLabels: labelMonths(days),
    columns: fitting,
    left: LEFT,
    maxCell: MAX_CELL,
    rowHeight: 0,
    // Up and down move by a day, as they do on the screen.
    step: 1,
  };
}

/**
 * @param {string} day
 * @param {number} index
 * @param {any} row
 * @param {import("./state.js").State} state
 */
function makeDayCell(day, index, row, state) {
  const values = row
    ? [
      { name: "messages", value: formatNumber(row.messages) },
      { name: "sessions", value: formatNumber(row.sessions) },
      { name: "cost", value: formatUsd(row.cost_usd, row.unpriced_messages) },
    ]
    : [{ name: "no message", value: "" }];
  return {
    row: index % 7,
    column: Math.floor(index / 7),
    value: row?.messages ?? 0,
    title: formatLongDay(day),
    values,
    href: row && makeSessionsHref(state, { since: day, until: day }),
  };
}

/**
 * Name a month above its first whole week; the first column may be too close to it.
 *
 * @param {string[]} days
 */
function labelMonths(days) {
  /** @type {{ column: number, text: string }[]} */
  const labels = [];
  for (let column = 0; column * 7 < days.length; column += 1) {
    const day = days[column * 7] ?? "";
    const isNew = column === 0 || day.slice(0, 7) !== days[(column - 1) * 7]?.slice(0, 7);
    if (isNew) labels.push({ column, text: MONTH.format(parseDay(day)) });
  }
  return labels.filter(({ column }, index) => (labels[index + 1]?.column ?? 99) - column > 2);
}

/**
 * @param {{ zone: string, messages: number[][] }} hours
 * @param {import("./state.js").State} state
 */
export function drawHours({ zone, messages }, state) {
  const cells = messages.flatMap((counts, row) => counts.map((value, column) => ({
    row,
    column,
    value,
    title: `${WEEKDAYS[row]}, ${column}:00 to ${column + 1}:00`,
    values: [{ name: "messages", value: formatNumber(value) }],
  })));
  const most = cells.reduce((a, b) => (b.value > a.value ? b : a));
  return makeFigure({
    name: "messages by hour of the week",
    draw: (width) => drawHeatMap({
      summary: `Messages by weekday and hour (${zone}), the most on ${most.title}: ${formatNumber(most.value)}.`,
      cells,
      rowLabels: WEEKDAYS,
      columnLabels: [0, 3, 6, 9, 12, 15, 18, 21].map((column) => ({ column, text: `${column}` })),
      columns: 24,
      left: LEFT,
      maxCell: 60,
      rowHeight: 22,
      step: 24,
    }, width),
    legend: makeHeatLegend(formatCount(most.value, "message")),
    table: makeTable(`Messages by weekday and hour (${zone})`, [
      { name: "hour", cell: (row) => `${row}:00`, isText: true },
      ...WEEKDAYS.map((name, weekday) => ({
        name,
        cell: (/** @type {number} */ row) => formatNumber(messages[weekday]?.[row] ?? 0),
      })),
    ], Array.from({ length: 24 }, (_, hour) => hour)),
    csv: `/api/stats/hours.csv${toQuery(state.filters)}`,
  });
}
