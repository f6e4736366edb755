/** The parts of the stats page: a title, what is counted, and the picture. */

import { h } from "../../lib/dom.js";
import { ApiError } from "../../lib/api.js";
import { makeSkeleton } from "../../lib/states.js";

/** @typedef {import("../../lib/dom.js").Child | import("../../lib/dom.js").Child[]} Content */

/** @typedef {{ element: HTMLElement, done: Promise<void> }} Panel */

/**
 * @typedef {object} PanelOptions
 * @property {boolean} [isTitleHidden]
 * @property {() => string | Promise<string>} [about] What is counted.
 * @property {HTMLElement[]} [tools] Switches beside the title.
 */

/**
 * Make a panel that fills itself when its numbers are there.
 *
 * @param {string} title
 * @param {string} kind Class of the layout.
 * @param {() => Promise<Content>} draw
 * @param {PanelOptions} [options]
 * @returns {Panel}
 */
export function makePanel(title, kind, draw, { isTitleHidden, about, tools = [] } = {}) {
  const heading = h("h2", { class: isTitleHidden && "visually-hidden" }, title);
  const note = h("p", { class: "about", hidden: !about });
  const body = h("div", { class: "panel-body loading", "aria-busy": "true" }, makeSkeleton(isTitleHidden ? 3 : 6));
  const element = h(
    "section",
    { class: `panel panel-${kind} ${isTitleHidden ? "" : "card"}`, "aria-label": title },
    h("header", { hidden: isTitleHidden && !tools.length }, heading, tools),
    note,
    body,
  );
  const fill = async () => {
    try {
      const content = await draw();
      body.replaceChildren();
      body.append(...[content].flat().filter((each) => each instanceof Node));
      note.textContent = (await about?.()) ?? "";
    } catch (error) {
      body.replaceChildren(makeProblem(error));
    }
    body.classList.remove("loading");
    body.removeAttribute("aria-busy");
  };
  return { element, done: fill() };
}

/** @param {unknown} error */
function makeProblem(error) {
  if (!(error instanceof ApiError)) return h("p", { class: "note" }, "This could not be drawn. Reload the page.");
  return h("p", { class: "note", role: "alert" }, `${error.message} ${error.hint}`);
}

/**
 * Make a group of buttons of which one is pressed.
 *
 * @template {string} T
 * @param {string} name
 * @param {T[]} values
 * @param {T} value
 * @param {(value: T) => void} change
 * @param {Record<string, string>} [labels] Where the label is not the value.
 */
export function makeSwitch(name, values, value, change, labels = {}) {
  const buttons = values.map((each) => h(
    "button",
    {
      type: "button",
      "aria-pressed": String(each === value),
      "data-switch": `${name}-${each}`,
      onclick: () => change(each),
    },
    labels[each] ?? each,
  ));
  return h("div", { class: "segmented", role: "group", "aria-label": name }, buttons);
}
