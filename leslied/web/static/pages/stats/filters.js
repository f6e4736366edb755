/** The bar of filters above the statistics. */

import { h } from "../../lib/dom.js";
import { hasFilters } from "./state.js";
import { makeShortener } from "./numbers.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").FilterName} FilterName */
/** @typedef {{ agents: string[], models: string[], projects: string[] }} Choices */
/** @typedef {(changes: Partial<Record<FilterName, string>>) => void} Change */

/** @type {[value: string, name: string][]} */
const RANGES = [
  ["", "All time"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["90d", "Last 90 days"],
  ["365d", "Last year"],
];
const CUSTOM = "custom";
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * @param {State} state
 * @param {Choices} choices
 * @param {Change} change
 */
export function drawFilters(state, choices, change) {
  const { filters } = state;
  return h(
    "form",
    { class: "stats-filters", "aria-label": "Filters", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    drawRange(state, change),
    drawSelect("Project", filters.project, choices.projects, (project) => change({ project }), makeShortener(choices.projects)),
    drawSelect("Agent", filters.agent, choices.agents, (agent) => change({ agent })),
    drawSelect("Model", filters.model, choices.models, (model) => change({ model })),
    hasFilters(state) && h("a", { class: "reset", href: "/stats" }, "Reset"),
  );
}

/**
 * @param {State} state
 * @param {Change} change
 */
function drawRange({ filters }, change) {
  const isPreset = !filters.until && RANGES.some(([value]) => value === filters.since);
  const days = h(
    "span",
    { class: "days", hidden: isPreset },
    drawDay("From", filters.since, (since) => change({ since })),
    drawDay("To", filters.until, (until) => change({ until })),
  );
  const select = h(
    "select",
    {
      onchange: () => {
        days.hidden = select.value !== CUSTOM;
        if (days.hidden) change({ since: select.value, until: "" });
        else days.querySelector("input")?.focus();
      },
    },
    [...RANGES, [CUSTOM, "Between days"]].map(([value, name]) =>
      h("option", { value, selected: value === (isPreset ? filters.since : CUSTOM) }, name)),
  );
  return h("span", { class: "range" }, h("label", {}, h("span", {}, "Time"), select), days);
}

/**
 * @param {string} name
 * @param {string} value
 * @param {(value: string) => void} change
 */
function drawDay(name, value, change) {
  const input = h("input", {
    type: "date",
    value: DAY.test(value) ? value : "",
    onchange: () => change(input.value),
  });
  return h("label", {}, h("span", {}, name), input);
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string[]} values
 * @param {(value: string) => void} change
 * @param {(value: string) => string} [format]
 */
function drawSelect(name, value, values, change, format = String) {
  // A value in the address may be a part of a name, or the name of a folder.
  const known = value && !values.includes(value) ? [value, ...values] : values;
  const select = h(
    "select",
    { onchange: () => change(select.value) },
    h("option", { value: "" }, "All"),
    known.map((each) => h("option", { value: each, selected: each === value }, format(each))),
  );
  return h("label", {}, h("span", {}, name), select);
}
