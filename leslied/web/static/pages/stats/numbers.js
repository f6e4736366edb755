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
 * Format a number of an axis, without its unit.
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

/**
 * Return the last two folders of a path.
 *
 * @param {string} path
 */
export function shortenPath(path) {
  return takeEnd(path, 2);
}

/**
 * Return a function that shortens paths to so many last folders that no two look alike.
 *
 * @param {string[]} paths
 * @returns {(path: string) => string}
 */
export function makeShortener(paths) {
  const counts = new Map();
  for (const path of new Set(paths)) counts.set(shortenPath(path), (counts.get(shortenPath(path)) ?? 0) + 1);
  return (path) => (counts.get(shortenPath(path)) > 1 ? takeUniqueEnd(path, paths) : shortenPath(path));
}

/**
 * @param {string} path
 * @param {string[]} paths
 */
function takeUniqueEnd(path, paths) {
  for (let folders = 3; folders < path.split("/").length; folders += 1) {
    const end = takeEnd(path, folders);
    if (!paths.some((other) => other !== path && takeEnd(other, folders) === end)) return end;
  }
  return path;
}

/**
 * @param {string} path
 * @param {number} folders
 */
function takeEnd(path, folders) {
  return path.split("/").filter(Boolean).slice(-folders).join("/") || path;
}

export { formatCompact, formatCount, formatNumber };
