/** Numbers of statistics, with their units. */

import { formatCompact, formatCost, formatCount, formatNumber } from "../../lib/format.js";

const DOLLARS = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * @param {number | null | undefined} usd
 * @param {number} [unpriced] Messages that are missing in the sum.
 */
export function formatUsd(usd, unpriced = 0) {
  if (usd === null || usd === undefined) return "unknown";
  const text = usd >= 1000 ? `$${DOLLARS.format(usd)}` : formatCost(usd);
  return unpriced ? `${text}+` : text;
}

/**
 * @param {import("./state.js").Measure} measure
 * @param {number} value
 */
export function formatMeasure(measure, value) {
  if (measure === "cost") return formatUsd(value);
  return measure === "tokens" ? `${formatCompact(value)} tokens` : formatCount(value, "message");
}

/**
 * Format a number of an axis, which has no room for a unit.
 *
 * @param {import("./state.js").Measure} measure
 * @param {number} value
 */
export function formatTick(measure, value) {
  if (measure !== "cost") return formatCompact(value);
  if (value >= 10_000) return `$${formatCompact(value)}`;
  return `$${value.toFixed(value && value < 10 && !Number.isInteger(value) ? 2 : 0)}`;
}

/**
 * @param {any} row
 * @param {import("./state.js").Measure} measure
 * @returns {number}
 */
export function getMeasure(row, measure) {
  if (measure === "cost") return row.cost_usd ?? 0;
  return measure === "tokens" ? row.total_tokens : row.messages;
}

/**
 * @param {number} part
 * @param {number} whole
 */
export function formatPercent(part, whole) {
  if (!whole) return "–";
  const percent = (part * 100) / whole;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** @param {string} path */
export function shortenPath(path) {
  return path.split("/").filter(Boolean).slice(-2).join("/") || path;
}

export { formatCompact, formatCount, formatNumber };
