/** One message: a prompt, an answer with its calls, an error or an event. */

import { h } from "../lib/dom.js";
import { formatTime } from "../lib/format.js";
import { drawCalls } from "./call.js";
import { drawImages } from "./images.js";
import { openMenu } from "./menu.js";
import { clamp, drawHtml, drawOutput, drawPrompt } from "./text.js";

const ORIGINS = { command: "Command", shell: "Shell command", queued: "Typed while the agent worked", task: "Task" };

/**
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 * @returns {HTMLElement}
 */
export function drawMessage(message, view, place) {
  if (message.speaker === "event") return drawEvent(message);
  const body = {
    user: drawUser, assistant: drawAnswer, tool: drawOtherOutput, error: drawOtherOutput,
  }[message.speaker](message, view, place);
  const isCallsOnly = message.speaker === "assistant" && !message.html && !message.thinking;
  const className = `message ${message.speaker}${isCallsOnly ? " calls-only" : ""}`;
  const label = { user: "Prompt", assistant: "Answer", tool: "Output", error: "Error" }[message.speaker];
  const attributes = { class: className, id: `entry-${message.id}`, tabindex: "-1", "aria-label": `${label}, ${formatTime(message.at)}` };
  return h("article", attributes, drawTools(message, view, place), body);
}

/** @param {import("./types.js").Message} message */
function drawEvent(message) {
  const line = message.text && h("p", { class: "event-text" }, h("span", {}, message.text));
  const title = message.kind === "notification" ? "Report" : "Summary";
  const detail = message.html && h("details", { class: "call" }, h("summary", {}, h("b", {}, title)), drawHtml(message.html));
  const attributes = { class: `message event ${message.kind}`, id: `entry-${message.id}`, tabindex: "-1", "aria-label": "Event" };
  return h("article", attributes, line, detail);
}

/**
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
function drawTools(message, view, place) {
  const button = h("button", { class: "more", type: "button", "aria-label": "Actions", "aria-haspopup": "menu" }, "⋯");
  button.addEventListener("click", () => openMenu(button, message, view, place));
  return h("div", { class: "message-tools" }, h("time", { datetime: message.at }, formatTime(message.at)), button);
}

/**
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} _view
 * @param {import("./types.js").Place} place
 */
function drawUser(message, _view, place) {
  const origin = ORIGINS[/** @type {keyof typeof ORIGINS} */ (message.origin ?? "")];
  return [
    origin && h("p", { class: "origin" }, origin),
    message.html ? clamp(drawHtml(message.html), message.text ?? "") : drawPrompt(message.text ?? ""),
    message.is_cut && h("p", { class: "faint small" }, "The rest is in the raw JSON."),
    drawImages(place.session, message.id, message.images ?? 0),
  ];
}

/**
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
function drawAnswer(message, view, place) {
  const { thinking, html, calls = [] } = message;
  return [
    thinking && h("details", { class: "thinking" }, h("summary", {}, "Thinking"), drawHtml(thinking)),
    html && drawHtml(html),
    ...drawCalls(calls, view, place),
  ];
}

/**
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} _view
 * @param {import("./types.js").Place} place
 */
function drawOtherOutput(message, _view, place) {
  const name = message.speaker === "error" ? "Error" : `Output of ${message.tool || "a tool"}`;
  const { session } = place;
  return [
    h("p", { class: "origin" }, name),
    drawOutput({ text: message.text ?? "", isCut: message.is_cut ?? false, session, entry: message.id, label: name }),
    drawImages(session, message.id, message.images ?? 0),
  ];
}
