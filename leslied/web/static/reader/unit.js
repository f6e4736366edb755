/** A unit: a section with its prompt as the heading, facts about it, and its messages. */

import { h } from "../lib/dom.js";
import { formatCost, formatCount, formatDuration, formatTime, formatWhen } from "../lib/format.js";
import { makeIcon } from "../ui/icons.js";
import { copyFrom } from "./copies.js";
import { showActions } from "./menu.js";
import { MessageList } from "./message_list.js";

const STOP_REASONS = {
  max_tokens: "stopped at the token limit", cancelled: "interrupted", error: "ended with an error",
};

/** A section of the page. */
export class UnitSection {
  /**
   * @param {import("./view.js").View} view
   * @param {import("./types.js").Unit} unit
   */
  constructor(view, unit) {
    this.view = view;
    this.unit = unit;
    const place = { session: view.session, unit: unit.number, subagent: "" };
    this.list = new MessageList(view, place, unit.pages, unit.messages);
    this.heading = h("h2", { class: "visually-hidden", id: `unit-${unit.number}-title` });
    this.facts = h("p", { class: "unit-facts" });
    const more = h("button", { class: "more", type: "button", "aria-label": "Actions of the unit", "aria-haspopup": "menu" }, makeIcon("copy"));
    more.addEventListener("click", () => this.openMenu(more));
    this.element = h(
      "section",
      { class: "unit", id: `unit-${unit.number}`, "aria-labelledby": this.heading.id, tabindex: "-1" },
      h("header", { class: "unit-header" }, this.facts, more),
      this.heading,
      this.list.element,
    );
    this.update(unit);
    view.watch(this.list);
  }

  /** @param {import("./types.js").Unit} unit */
  update(unit) {
    this.unit = unit;
    this.heading.textContent = formatUnitTitle(unit);
    this.element.classList.toggle("rewound", unit.rewound);
    this.facts.replaceChildren(
      h("span", { class: "unit-number" }, unit.number ? `${unit.number}` : "·"),
      unit.rewound ? h("span", { class: "badge waiting" }, "rewound") : "",
      h("span", {}, formatFacts(unit)),
    );
    this.list.setPages(unit.pages, unit.messages);
    this.view.watch(this.list);
  }

  /** @param {HTMLElement} button */
  openMenu(button) {
    const { number } = this.unit;
    showActions(button, [
      ["Copy as Markdown", () => copyFrom(this.view.session, "markdown", number)],
      ["Copy as Leslie text", () => copyFrom(this.view.session, "leslie", number)],
    ], "Actions of the unit");
  }
}

/** @param {import("./types.js").Unit} unit */
export function formatUnitTitle(unit) {
  return unit.title || (unit.number ? "Prompt without text" : "Before the first prompt");
}

/** @param {import("./types.js").Unit} unit */
function formatFacts(unit) {
  const { started_at: start, ended_at: end } = unit;
  const milliseconds = start && end ? Date.parse(end) - Date.parse(start) : 0;
  const day = formatWhen(start);
  const time = formatTime(start);
  const reason = STOP_REASONS[/** @type {keyof typeof STOP_REASONS} */ (unit.stop_reason)];
  return [
    day === time ? time : `${day}, ${time}`,
    milliseconds > 0 ? formatDuration(milliseconds) : "",
    unit.tool_calls ? formatCount(unit.tool_calls, "tool call") : "",
    unit.failed_calls ? `${unit.failed_calls} failed` : "",
    unit.subagents ? formatCount(unit.subagents, "subagent") : "",
    formatCost(unit.cost_usd),
    reason ?? "",
  ].filter((text) => text && text !== ", ").join(" · ");
}
