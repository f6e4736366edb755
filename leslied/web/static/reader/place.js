/** The reader's place: moving by keyboard, and going to an entry. */

import { get } from "../lib/api.js";
import { findSubagentMessages } from "./subagent.js";

const STOPS = ".message, .message-page.unloaded";

/**
 * Go to the next or the previous message; load it first if necessary.
 *
 * @param {import("./view.js").View} view
 * @param {1 | -1} step
 */
export async function moveToMessage(view, step) {
  const stops = [...view.root.querySelectorAll(STOPS)].filter((each) => each.checkVisibility());
  const current = view.root.querySelector(".message.current");
  let at = current && isOnScreen(current) ? stops.indexOf(current) : -1;
  if (at < 0) {
    at = stops.findIndex((each) => each.getBoundingClientRect().bottom > getTop(view) + 1);
    if (step === 1) at -= 1;
  }
  const next = stops[at + step];
  if (!next) return;
  if (!next.classList.contains("unloaded")) {
    select(view, next);
    return;
  }
  const list = [...view.lists].find((each) => each.pages.includes(/** @type {HTMLElement} */ (next)));
  await list?.load(Number(next.getAttribute("data-page")));
  const messages = next.querySelectorAll(".message");
  const message = messages[step === 1 ? 0 : messages.length - 1];
  if (message) select(view, message);
}

/**
 * Mark a message as the current one, and show it.
 *
 * @param {import("./view.js").View} view
 * @param {Element} message
 */
export function select(view, message) {
  for (const each of view.root.querySelectorAll(".current")) each.classList.remove("current");
  message.classList.add("current");
  if (message instanceof HTMLElement) message.focus({ preventScroll: true });
  message.scrollIntoView({ block: "start" });
}

/** @param {import("./view.js").View} view */
export function findCurrentMessage(view) {
  const current = view.root.querySelector(".message.current");
  if (current && isOnScreen(current)) return current;
  return [...view.root.querySelectorAll(".message")]
    .find((each) => each.getBoundingClientRect().bottom > getTop(view) + 1) ?? null;
}

/**
 * Return the number of the unit at the top of the screen.
 *
 * @param {import("./view.js").View} view
 */
export function findCurrentUnit(view) {
  const top = getTop(view) + 24;
  let current = -1;
  for (const section of view.root.querySelectorAll(".unit")) {
    if (current >= 0 && section.getBoundingClientRect().top > top) break;
    current = Number(section.id.replace("unit-", ""));
  }
  return current;
}

/**
 * Show an entry: load its page, open the subagents and the call that it is in.
 *
 * @param {import("./view.js").View} view
 * @param {Map<number, import("./unit.js").UnitSection>} sections
 * @param {string} entry
 */
export async function goToEntry(view, sections, entry) {
  const path = `/sessions/${encodeURIComponent(view.session)}/position`;
  const position = await get(path, { entry }, view.signal);
  /** @type {import("./message_list.js").MessageList | null} */
  let list = sections.get(position.unit)?.list ?? null;
  for (const subagent of position.subagents) {
    const details = list && await findSubagent(list, subagent);
    if (!details) return;
    details.open = true;
    list = findSubagentMessages(details);
  }
  await list?.load(position.page);
  const found = view.root.querySelector(`#entry-${CSS.escape(entry)}, [data-result="${CSS.escape(entry)}"]`);
  if (!found || view.signal.aborted) return;
  if (found instanceof HTMLDetailsElement) found.open = true;
  found.classList.add("target");
  const message = found.closest(".message") ?? found;
  select(view, message);
  await settle();
  found.scrollIntoView({ block: found === message ? "start" : "center" });
}

/**
 * @param {import("./message_list.js").MessageList} list
 * @param {string} subagent
 * @returns {Promise<HTMLDetailsElement | null>}
 */
async function findSubagent(list, subagent) {
  const selector = `details[data-subagent="${CSS.escape(subagent)}"]`;
  for (let number = 0; number < list.pages.length; number += 1) {
    await list.load(number);
    const details = list.element.querySelector(selector);
    if (details instanceof HTMLDetailsElement) return details;
  }
  return null;
}

/** Wait until what was drawn has its size. */
function settle() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

/** @param {Element} element */
function isOnScreen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** @param {import("./view.js").View} view */
function getTop(view) {
  return view.root.querySelector(".reader-header")?.getBoundingClientRect().bottom ?? 0;
}
