/** The line of key figures: what was counted, in large numbers. */

import { h } from "../../lib/dom.js";
import { drawSparkline } from "../../lib/charts/sparkline.js";
import { formatCompact, formatCount, formatNumber, formatPercent, formatUsd } from "./numbers.js";
import { makeSessionsHref } from "./state.js";

/**
 * @param {any} stats Usage by day.
 * @param {any} timeline
 * @param {Promise<any>} tools Usage by tool.
 * @param {import("./state.js").State} state
 */
export function drawKeyFigures({ totals }, timeline, tools, state) {
  const calls = h("span", {}, "…");
  const failures = h("span", {}, "with failures");
  tools.then(({ totals }) => {
    calls.textContent = formatNumber(totals.calls);
    failures.textContent = `${formatNumber(totals.failed)} failed (${formatPercent(totals.failed, totals.calls)})`;
  }, () => undefined);
  const { unpriced_messages: unpriced, messages } = totals;
  const cached = totals.cache_read_tokens;
  const input = cached + totals.input_tokens + totals.cache_write_tokens;
  return h(
    "dl",
    { class: "key-figures" },
    drawFigure("Cost", formatUsd(totals.cost_usd, unpriced), describeCost(totals), sumSeries(timeline, "cost_usd")),
    drawFigure(
      "Tokens",
      formatCompact(totals.total_tokens),
      `${formatCompact(totals.output_tokens)} written; ${formatPercent(cached, input)} of the input came from a cache`,
      sumSeries(timeline, "tokens"),
    ),
    drawFigure("Messages", formatNumber(messages), "answers of models; each is counted once", sumSeries(timeline, "messages")),
    drawFigure(
      "Sessions",
      h("a", { href: makeSessionsHref(state) }, formatNumber(totals.sessions)),
      "with at least one such message; subagents belong to their session",
    ),
    // Calls take longer to count than messages.
    drawFigure("Tool calls", calls, failures),
  );
}

/** @param {any} totals */
function describeCost({ cost_usd: cost, unpriced_messages: unpriced }) {
  if (cost === null) return "no model has a known price";
  return unpriced ? `at list prices, without ${formatCount(unpriced, "message")} of unknown price` : "at list prices";
}

/**
 * @param {string} name
 * @param {string | Node} value
 * @param {string | Node} about
 * @param {number[]} [trend]
 */
function drawFigure(name, value, about, trend = []) {
  return h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", { class: "value" }, value),
    h("dd", { class: "about" }, about),
    trend.length > 1 && h("dd", { class: "trend" }, drawSparkline(trend, `${name} over time`)),
  );
}

/**
 * @param {any} timeline
 * @param {"cost_usd" | "tokens" | "messages"} name
 * @returns {number[]}
 */
function sumSeries(timeline, name) {
  return timeline.periods.map((/** @type {string} */ _, /** @type {number} */ index) =>
    timeline.series.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each[name][index], 0));
}

/**
 * Say where the prices come from, and what has none.
 *
 * @param {any} stats
 */
export function drawPriceNote({ prices, unpriced_models: models, totals }) {
  const count = totals.unpriced_messages;
  return h(
    "p",
    { class: "note" },
    `Costs are list prices of ${prices.date} (${prices.source} ${prices.version}), whatever your plan is. `,
    count > 0 && `No price is known for ${models.slice(0, 5).join(", ") || "messages without a model"}` +
      `${models.length > 5 ? ", …" : ""}: the cost excludes ${formatCount(count, "message")}; a + marks such sums. `,
    "The same numbers in a terminal: ",
    h("code", {}, "leslied stats"),
  );
}
