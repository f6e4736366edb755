/** Round ticks, days and the layout of axes. */

const DAY_MS = 86_400_000;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const LONG_DAY = new Intl.DateTimeFormat("en-GB", {
  weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
});
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });
const LONG_MONTH = new Intl.DateTimeFormat("en-GB", {
  month: "long", year: "numeric", timeZone: "UTC",
});

/**
 * Return round numbers from 0 to at least the maximum.
 *
 * @param {number} maximum
 * @param {number} [count] About how many steps.
 * @returns {number[]}
 */
export function makeTicks(maximum, count = 4) {
  if (!(maximum > 0)) return [0, 1];
  const rough = maximum / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (/** @type {number[]} */ ([1, 2, 2.5, 5, 10])
    .find((each) => each * power >= rough * 0.999) ?? 10) * power;
  const steps = Math.ceil((maximum / step) * 0.9999);
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}

/**
 * Return ticks for things that are counted, which have no fractions.
 *
 * @param {number} maximum
 * @param {number} [count]
 */
export function makeWholeTicks(maximum, count = 4) {
  const ticks = makeTicks(Math.max(maximum, count), count);
  return ticks.every(Number.isInteger) ? ticks : makeTicks(Math.max(maximum, count), 2);
}

/** @param {string} day Such as `2026-01-31`, or `2026-01`. */
export function parseDay(day) {
  return new Date(`${day.length === 7 ? `${day}-01` : day}T00:00:00Z`);
}

/** @param {Date} date */
export function toDay(date) {
  return date.toISOString().slice(0, 10);
}

/**
 * @param {Date} date
 * @param {number} days
 */
export function addDays(date, days) {
  return new Date(date.getTime() + days * DAY_MS);
}

/**
 * Format a period for an axis; the year is part of the first label of each year.
 *
 * @param {string} period A day, or a month.
 * @param {string} [previous] The period of the label before.
 */
export function formatTick(period, previous) {
  const date = parseDay(period);
  const text = period.length === 7 ? MONTH.format(date) : DAY.format(date);
  return previous && previous.slice(0, 4) !== period.slice(0, 4) ? `${text} ${period.slice(0, 4)}` : text;
}

/** @param {string} day */
export function formatLongDay(day) {
  return LONG_DAY.format(parseDay(day));
}

/**
 * @param {string} period
 * @param {"day" | "week" | "month"} kind
 */
export function formatPeriod(period, kind) {
  if (kind === "month") return LONG_MONTH.format(parseDay(period));
  return kind === "week" ? `Week of ${formatLongDay(period)}` : formatLongDay(period);
}

/**
 * Return every how many items a label fits.
 *
 * @param {number} step Pixels from one item to the next.
 * @param {number} width Pixels that a label needs.
 */
export function chooseLabelStep(step, width) {
  return Math.max(1, Math.ceil(width / step));
}
