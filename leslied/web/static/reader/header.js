/** The header that stays at the top: title, facts, context use, and what can be done. */

import { copyText } from "../lib/copy.js";
import { h, svg } from "../lib/dom.js";
import { formatCompact, formatCost, formatCount } from "../lib/format.js";
import { copyFrom } from "./copies.js";
import { showActions } from "./menu.js";

const STATES = { active: "live", idle: "waiting", stopped: "" };
const STATE_NAMES = { active: "working", idle: "waits for a prompt", stopped: "stopped" };
const MAX_POINTS = 160;

/**
 * @typedef {object} HeaderActions
 * @property {() => void} toggleRail
 * @property {() => void} toggleThinking
 * @property {() => void} toggleCalls
 */

/** The header of the reader. */
export class ReaderHeader {
  /**
   * @param {string} session
   * @param {import("./marks.js").ReaderMarks} marks
   * @param {HeaderActions} actions
   */
  constructor(session, marks, actions) {
    this.session = session;
    this.title = h("h1", { class: "clip" });
    this.facts = h("p", { class: "reader-facts clip" });
    this.chart = h("div", { class: "context-use" });
    this.thinking = makeToggle("Thinking", "Show thinking (T)", actions.toggleThinking);
    this.calls = makeToggle("Unfold", "Unfold all calls (O)", actions.toggleCalls);
    /** @type {import("./types.js").Outline | null} */
    this.outline = null;
    const copy = h("button", { type: "button", "aria-haspopup": "menu" }, "Copy…");
    copy.addEventListener("click", () => this.openCopyMenu(copy));
    const prompts = h("button", { type: "button", class: "prompts-button", onclick: actions.toggleRail, title: "Prompts (p)" }, "Prompts");
    this.element = h(
      "header",
      { class: "reader-header" },
      marks.star,
      h("div", { class: "reader-title" }, this.title, this.facts),
      this.chart,
      h("div", { class: "reader-actions" }, prompts, marks.edit, this.thinking, this.calls, copy),
    );
  }

  /** @param {import("./types.js").Outline} outline */
  draw(outline) {
    this.outline = outline;
    const { session } = outline;
    const title = session.title || session.id;
    this.title.textContent = title;
    this.title.title = title;
    this.facts.replaceChildren(...drawFacts(session));
    this.chart.replaceChildren(...drawContextUse(outline.context));
  }

  /** @param {HTMLElement} button */
  openCopyMenu(button) {
    /** @type {import("./menu.js").Action[]} */
    const actions = [
      ["Link to the session", () => copyText(`${location.origin}/s/${encodeURIComponent(this.session)}`, "Link")],
      ["Session as Markdown", () => copyFrom(this.session, "markdown")],
      ["Session as Leslie text", () => copyFrom(this.session, "leslie")],
    ];
    const command = this.outline?.resume_command;
    if (command) actions.unshift(["Command to resume (c)", () => copyText(command, "Command")]);
    showActions(button, actions, "Copy");
  }
}

/**
 * @param {string} name
 * @param {string} title
 * @param {() => void} run
 */
function makeToggle(name, title, run) {
  return h("button", { type: "button", class: "chip", "aria-pressed": "false", title, onclick: run }, name);
}

/** @param {any} session */
function drawFacts(session) {
  const state = /** @type {keyof typeof STATES} */ (session.status);
  const project = session.project ?? session.cwd ?? "";
  const { usage } = session;
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
  const facts = [
    [project.split("/").at(-1) ?? "", project],
    [session.agent, ""],
    [session.model ?? "", ""],
    [formatCount(session.units, "prompt"), ""],
    [formatCost(session.cost_usd), session.unpriced_messages ? "Some messages have no known price" : "At list prices, with subagents"],
    [input ? `${formatCompact(input)} in, ${formatCompact(usage.output_tokens)} out` : "", "Tokens, with subagents"],
  ];
  return [
    h("span", { class: `badge ${STATES[state]}` }, h("i", { class: `dot ${STATES[state]}` }), STATE_NAMES[state]),
    ...facts.filter(([text]) => text).map(([text, title]) => h("span", { title: title || null }, text)),
  ];
}

/**
 * Draw how much of the context window the conversation has used over time.
 *
 * @param {[unit: number, tokens: number][]} points
 */
function drawContextUse(points) {
  const values = sample(points.map(([, tokens]) => tokens).filter((tokens) => tokens > 0));
  const last = values.at(-1);
  if (values.length < 2 || last === undefined) return [];
  const largest = Math.max(...values);
  const text = `Context: now ${formatCompact(last)} tokens, at most ${formatCompact(largest)}`;
  const at = (/** @type {number} */ value, /** @type {number} */ i) =>
    `${((i / (values.length - 1)) * 118 + 1).toFixed(1)},${(25 - (value / largest) * 22).toFixed(1)}`;
  const line = values.map(at).join(" ");
  return [
    svg(
      "svg",
      { viewBox: "0 0 120 26", role: "img", "aria-label": text },
      svg("title", {}, text),
      svg("polygon", { points: `1,26 ${line} 119,26` }),
      svg("polyline", { points: line }),
    ),
    h("span", { class: "tiny faint", "aria-hidden": "true" }, `${formatCompact(last)} context`),
  ];
}

/**
 * Reduce a series to as many points as can be seen; each is the largest of its part.
 *
 * @param {number[]} values
 */
function sample(values) {
  if (values.length <= MAX_POINTS) return values;
  const size = values.length / MAX_POINTS;
  return Array.from({ length: MAX_POINTS }, (_, i) =>
    Math.max(...values.slice(Math.floor(i * size), Math.max(Math.floor((i + 1) * size), Math.floor(i * size) + 1))));
}
