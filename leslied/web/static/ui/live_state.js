/** Whether new entries arrive: a few words in the bar, and what to do if they do not. */

import { makeCopyButton } from "../lib/copy.js";
import { h } from "../lib/dom.js";
import { onConnectionChange, onLive } from "../lib/live.js";

/**
 * @typedef {object} State
 * @property {string} name
 * @property {string} dot
 * @property {string} words
 * @property {string} [command] What to type to change it.
 * @property {string} about
 */

/** @type {State} */
const CONNECTING = { name: "connecting", dot: "", words: "connecting", about: "The page asks leslied for news." };
/** @type {State} */
const LIVE = {
  name: "live",
  dot: "live",
  words: "live",
  about: "leslied reads the logs of your agents. New entries appear by themselves.",
};
/** @type {State} */
const NOT_READING = {
  name: "not-reading",
  dot: "waiting",
  words: "not reading",
  command: "leslied service install",
  about: "The daemon does not run, so nothing new is read. You see what was read before. To read from now on, run:",
};
/** @type {State} */
const LOST = {
  name: "lost",
  dot: "error",
  words: "connection lost",
  command: "leslied web",
  about: "leslied does not answer. What you see may be old. The page connects again by itself. If it does not, run:",
};

/** Make the button that shows the state and opens its explanation. */
export function makeLiveState() {
  const words = h("span", { class: "clip", role: "status" });
  const dot = h("i", { class: "dot", "aria-hidden": "true" });
  const details = h("div", { class: "live-details", id: "live-details", popover: "" });
  const button = h("button", { class: "live-state", popovertarget: "live-details" }, dot, words);
  let isReading = /** @type {boolean | null} */ (null);
  /** @param {State} state */
  const draw = (state) => {
    button.dataset["state"] = state.name;
    dot.className = `dot ${state.dot}`;
    words.replaceChildren(state.words, drawCommand(state));
    details.replaceChildren(...drawDetails(state));
  };
  const drawConnected = () => draw(isReading === null ? CONNECTING : isReading ? LIVE : NOT_READING);
  onLive((event) => {
    if (event.type !== "daemon") return;
    isReading = event.is_running;
    drawConnected();
  });
  onConnectionChange((isConnected) => isConnected ? drawConnected() : draw(LOST));
  drawConnected();
  return h("div", {}, button, details);
}

/** @param {State} state */
function drawCommand({ command }) {
  return command ? h("span", { class: "live-command" }, " — run: ", h("code", {}, command)) : "";
}

/** @param {State} state */
function drawDetails({ about, command }) {
  const text = h("p", {}, about);
  if (!command) return [text];
  return [text, h("div", { class: "command" }, h("code", {}, command), makeCopyButton(command, "Command"))];
}
