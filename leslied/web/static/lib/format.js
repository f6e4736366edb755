/** Numbers, times and durations as people read them. */

const NUMBER = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** @param {number} value */
export function formatNumber(value) {
  return NUMBER.format(value);
}

/** @param {number} value */
export function formatCompact(value) {
  return COMPACT.format(value);
}

/** @param {number | null | undefined} usd */
export function formatCost(usd) {
  if (usd === null || usd === undefined) return "";
  return usd > 0 && usd < 0.01 ? "<$0.01" : `$${usd.toFixed(2)}`;
}

/** @param {number} milliseconds */
export function formatDuration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

/** @param {string | null} time ISO 8601 */
export function formatTime(time) {
  return time ? TIME.format(new Date(time)) : "";
}

/**
 * The time today, the day this year, else the date.
 *
 * @param {string | null} time ISO 8601
 * @param {Date} [now]
 */
export function formatWhen(time, now = new Date()) {
  if (!time) return "";
  const date = new Date(time);
  if (date.toDateString() === now.toDateString()) return TIME.format(date);
  return date.getFullYear() === now.getFullYear() ? DAY.format(date) : DAY_YEAR.format(date);
}

/**
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 */
export function formatCount(count, noun, plural = `${noun}s`) {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}
