/** Stacked bars over time. */

import { svg } from "../dom.js";
import { makePicture } from "./figure.js";
import { inspect } from "./inspect.js";
import { chooseLabelStep, makeTicks } from "./scale.js";

const HEIGHT = 240;
const MARGIN = { top: 10, right: 4, bottom: 26, left: 58 };
const MAX_BAR_WIDTH = 44;
const LABEL_WIDTH = 68;

/**
 * @typedef {object} StackedBars
 * @property {string} summary
 * @property {string[]} labels One for each bar.
 * @property {(index: number, previous?: number) => string} formatLabel For the axis.
 * @property {(index: number) => string} formatTitle For the box of values.
 * @property {{ name: string, color: string, values: number[] }[]} series From the bottom.
 * @property {(value: number) => string} formatValue
 * @property {(value: number) => string} formatTick
 * @property {(index: number) => string} [getHref]
 * @property {number[]} [ticks]
 */

/**
 * @param {StackedBars} chart
 * @param {number} width
 * @returns {import("./figure.js").Picture}
 */
export function drawStackedBars(chart, width) {
  const totals = chart.labels.map((_, index) => sumAt(chart.series, index));
  const ticks = chart.ticks ?? makeTicks(Math.max(...totals, 0));
  const plot = {
    width: width - MARGIN.left - MARGIN.right,
    height: HEIGHT - MARGIN.top - MARGIN.bottom,
  };
  const step = plot.width / Math.max(chart.labels.length, 1);
  const top = ticks.at(-1) ?? 1;
  /** @param {number} value */
  const toY = (value) => MARGIN.top + plot.height * (1 - value / top);
  const groups = chart.labels.map((_, index) =>
    drawBar(chart, index, MARGIN.left + index * step, step, toY));
  const marks = groups.map((element, index) => ({
    element,
    title: chart.formatTitle(index),
    values: listValues(chart, index, totals[index] ?? 0),
    href: chart.getHref?.(index),
  }));
  const element = makePicture(width, HEIGHT, chart.summary, [
    drawTicks(ticks, toY, width, chart.formatTick),
    svg("g", {}, groups),
    drawLabels(chart, step),
  ]);
  return { element, attach: (frame) => inspect(frame, element, marks) };
}

/**
 * @param {StackedBars["series"]} series
 * @param {number} index
 */
function sumAt(series, index) {
  return series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0);
}

/**
 * @param {StackedBars} chart
 * @param {number} index
 * @param {number} left
 * @param {number} step
 * @param {(value: number) => number} toY
 */
function drawBar(chart, index, left, step, toY) {
  const gap = step > 6 ? Math.min(step * 0.22, 6) : step > 2 ? 1 : 0;
  const width = Math.min(step - gap, MAX_BAR_WIDTH);
  const x = left + (step - width) / 2;
  const group = svg("g", { "data-mark": "", class: "bar" }, svg("rect", {
    class: "hit", x: left, y: MARGIN.top, width: step, height: HEIGHT - MARGIN.top - MARGIN.bottom,
  }));
  let base = 0;
  for (const { color, values } of chart.series) {
    const value = values[index] ?? 0;
    if (value <= 0) continue;
    const [y, bottom] = [toY(base + value), toY(base)];
    base += value;
    // A line between segments keeps neighbours apart, also without colours.
    const height = Math.max(bottom - y - (bottom - y > 3 ? 1 : 0), 0.5);
    group.append(svg("rect", { class: color, x, y, width, height }));
  }
  return group;
}

/**
 * @param {StackedBars} chart
 * @param {number} index
 * @param {number} total
 */
function listValues(chart, index, total) {
  const values = chart.series
    .map(({ name, color, values }) => ({ name, color, value: values[index] ?? 0 }))
    .filter(({ value }) => value > 0)
    .reverse()
    .map((each) => ({ ...each, value: chart.formatValue(each.value) }));
  if (values.length === 1 && chart.series.length === 1) return values;
  return [...values, { name: "Total", value: chart.formatValue(total) }];
}

/**
 * Lines and numbers of the vertical axis.
 *
 * @param {number[]} ticks
 * @param {(value: number) => number} toY
 * @param {number} width
 * @param {(value: number) => string} format
 */
function drawTicks(ticks, toY, width, format) {
  return svg("g", { class: "axis" }, ticks.flatMap((tick) => {
    const y = Math.round(toY(tick)) + 0.5;
    return [
      svg("line", { class: tick ? "grid" : "base", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }),
      svg("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, format(tick)),
    ];
  }));
}

/**
 * @param {StackedBars} chart
 * @param {number} step
 */
function drawLabels(chart, step) {
  const every = chooseLabelStep(step, LABEL_WIDTH);
  const last = chart.labels.length - 1;
  // The last label must not be cut off.
  const right = MARGIN.left + (last + 1) * step - LABEL_WIDTH / 3;
  const shown = chart.labels.map((_, index) => index).filter((index) =>
    index % every === 0 && (index === last || (last - index) * step > LABEL_WIDTH * 0.4 || every === 1));
  return svg("g", { class: "axis" }, shown.map((index, position) => {
    const x = MARGIN.left + (index + 0.5) * step;
    return svg(
      "text",
      { x: index === last ? Math.min(x, right) : x, y: HEIGHT - 8, "text-anchor": "middle" },
      chart.formatLabel(index, position ? shown[position - 1] : undefined),
    );
  }));
}
