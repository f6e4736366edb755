/** A subagent: one line, and its messages when it is opened, at any depth. */

import { h } from "../lib/dom.js";
import { formatCount, formatDuration } from "../lib/format.js";
import { MessageList } from "./message_list.js";

/** @type {WeakMap<Element, MessageList>} */
const lists = new WeakMap();

/**
 * @param {import("./types.js").Subagent} subagent
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place Where its call is.
 */
export function drawSubagent(subagent, view, place) {
  const details = h(
    "details",
    { class: "subagent", "data-subagent": subagent.id },
    h(
      "summary",
      {},
      h("span", { class: "badge accent" }, subagent.type || "subagent"),
      h("span", { class: "clip" }, subagent.title || subagent.id),
      h("span", { class: "subagent-facts" }, formatFacts(subagent)),
    ),
  );
  const list = new MessageList(view, { session: place.session, unit: 0, subagent: subagent.id }, 1);
  lists.set(details, list);
  details.addEventListener("toggle", () => {
    if (!details.open || details.contains(list.element)) return;
    details.append(list.element);
    view.watch(list);
    void list.load(0);
  });
  details.open = view.openSubagents.has(subagent.id);
  details.addEventListener("toggle", () => {
    if (details.open) view.openSubagents.add(subagent.id);
    else view.openSubagents.delete(subagent.id);
  });
  return details;
}

/**
 * Return the messages of a subagent that was drawn.
 *
 * @param {Element} details
 */
export function findSubagentMessages(details) {
  return lists.get(details) ?? null;
}

/** @param {import("./types.js").Subagent} subagent */
function formatFacts(subagent) {
  const { started_at: start, ended_at: end } = subagent;
  const milliseconds = start && end ? Date.parse(end) - Date.parse(start) : 0;
  return [
    subagent.tool_calls ? formatCount(subagent.tool_calls, "call") : "",
    milliseconds > 0 ? formatDuration(milliseconds) : "",
    subagent.status === "active" ? "working" : "",
  ].filter(Boolean).join(" · ");
}
