/** A tool call: one line, and its arguments and output when it is unfolded. */

import { h, parseServerHtml } from "../lib/dom.js";
import { formatCount, formatDuration } from "../lib/format.js";
import { drawEdit, drawEditStat } from "./edit.js";
import { drawImages } from "./images.js";
import { drawSubagent } from "./subagent.js";
import { drawHtml, drawOutput } from "./text.js";

const OUTCOMES = {
  ok: { mark: "✓", name: "succeeded" },
  failed: { mark: "✕", name: "failed" },
  unanswered: { mark: "…", name: "no answer" },
};

/**
 * Draw the calls of a message; several were made in parallel.
 *
 * @param {import("./types.js").Call[]} calls
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
export function drawCalls(calls, view, place) {
  const drawn = calls.map((call) => drawCall(call, view, place));
  if (drawn.length < 2) return drawn;
  const name = formatCount(drawn.length, "parallel call");
  const heading = drawn.length > 2 && h("p", { class: "parallel-name" }, name);
  return [h("div", { class: "parallel", role: "group", "aria-label": name, title: name }, heading, drawn)];
}

/**
 * @param {import("./types.js").Call} call
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
function drawCall(call, view, place) {
  const outcome = OUTCOMES[call.outcome];
  const summary = h(
    "summary",
    {},
    h("span", { class: `mark ${call.outcome}`, "aria-label": outcome.name, role: "img", title: outcome.name }, outcome.mark),
    h("b", {}, call.tool),
    h("code", { class: "clip" }, call.label),
    call.edits.map(drawEditStat),
    h("span", { class: "duration" }, call.duration_ms === null ? "" : formatDuration(call.duration_ms)),
  );
  const attributes = { class: `call ${call.outcome}`, id: `entry-${call.id}`, "data-result": call.result_id };
  const details = h("details", attributes, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(drawBody(call, view, place));
  });
  details.open = view.areCallsOpen;
  const images = drawImages(place.session, call.result_id, call.images);
  return h("div", { class: "call-box" }, details, images, call.subagents.map((each) => drawSubagent(each, view, place)));
}

/**
 * @param {import("./types.js").Call} call
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
function drawBody(call, view, place) {
  return h(
    "div",
    { class: "call-body" },
    call.edits.map((edit) => drawEdit(edit, view.project)),
    drawArguments(call, place),
    drawResult(call, place),
  );
}

/**
 * @param {import("./types.js").Call} call
 * @param {import("./types.js").Place} place
 */
function drawArguments(call, place) {
  if (!call.arguments.length) return null;
  const list = h("dl", { class: "arguments" });
  for (const { name, text, html, is_cut } of call.arguments) {
    const value = h("pre", { tabindex: "0", role: "group", "aria-label": `Argument ${name}` });
    if (html) value.append(parseServerHtml(html));
    else value.textContent = text;
    const note = is_cut && h("p", { class: "faint small" }, "The rest is in the raw JSON of the message.");
    list.append(h("dt", {}, name), h("dd", {}, value, note));
  }
  list.dataset["session"] = place.session;
  return list;
}

/**
 * @param {import("./types.js").Call} call
 * @param {import("./types.js").Place} place
 */
function drawResult(call, place) {
  if (call.outcome === "unanswered") return h("p", { class: "no-output" }, "No answer yet.");
  if (call.html) return drawHtml(call.html, "report");
  if (!call.text) return h("p", { class: "no-output" }, "No output.");
  const { session } = place;
  return drawOutput({ text: call.text, isCut: call.is_cut, session, entry: call.result_id, label: `Output of ${call.tool}` });
}
