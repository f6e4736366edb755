/** What can be done with a message: link, text, raw JSON, secrets. */

import { change, get } from "../lib/api.js";
import { copyText } from "../lib/copy.js";
import { h } from "../lib/dom.js";
import { showToast } from "../ui/toast.js";

/** @typedef {[name: string, run: () => void | Promise<void>]} Action */

/**
 * Open the menu of a message beside its button.
 *
 * @param {HTMLElement} button
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
export function openMenu(button, message, view, place) {
  /** @type {Action[]} */
  const actions = [
    ["Copy link", () => copyLink(view, message.id)],
    ["Copy text", () => copyMessageText(message)],
    ["Raw JSON", () => showRaw(view, message)],
  ];
  if (message.has_secrets) actions.push(["Reveal secrets", () => reveal(message, view, place)]);
  showActions(button, actions, "Actions of the message");
}

/**
 * Show a menu below a button.
 *
 * @param {HTMLElement} button
 * @param {Action[]} actions
 * @param {string} label
 */
export function showActions(button, actions, label) {
  const menu = h("div", { class: "menu", popover: "auto", role: "menu", "aria-label": label });
  for (const [name, run] of actions) {
    const choose = () => {
      menu.hidePopover();
      void Promise.resolve(run()).catch(showProblem);
    };
    menu.append(h("button", { type: "button", role: "menuitem", tabindex: "-1", onclick: choose }, name));
  }
  menu.addEventListener("keydown", moveInMenu);
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
    menu.remove();
    if (menu.contains(document.activeElement) || document.activeElement === document.body) button.focus();
  });
  document.body.append(menu);
  menu.showPopover();
  placeBelow(menu, button);
  menu.querySelector("button")?.focus();
}

/** @param {KeyboardEvent} event */
function moveInMenu(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const menu = event.currentTarget;
  if (!(menu instanceof HTMLElement)) return;
  if (event.key === "Escape") {
    // Only the menu closes; the shortcut of the page would leave the session.
    event.preventDefault();
    menu.hidePopover();
  }
  if (!step) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll("button")];
  const at = items.findIndex((item) => item === document.activeElement);
  items.at((at + step + items.length) % items.length)?.focus();
}

/**
 * @param {HTMLElement} menu
 * @param {HTMLElement} button
 */
function placeBelow(menu, button) {
  const { left, bottom, top } = button.getBoundingClientRect();
  const x = Math.min(left, innerWidth - menu.offsetWidth - 8);
  const y = bottom + menu.offsetHeight + 8 < innerHeight ? bottom + 4 : top - menu.offsetHeight - 4;
  menu.style.setProperty("left", `${Math.max(x, 8)}px`);
  menu.style.setProperty("top", `${Math.max(y, 8)}px`);
}

/** @param {unknown} error */
function showProblem(error) {
  showToast(error instanceof Error ? error.message : String(error), "close");
}

/**
 * Copy the address of an entry, and make it that of the page.
 *
 * @param {import("./view.js").View} view
 * @param {string} entry
 */
export async function copyLink(view, entry) {
  const path = `/s/${encodeURIComponent(view.session)}#entry-${entry}`;
  history.replaceState(null, "", path);
  await copyText(`${location.origin}${path}`, "Link");
}

/** @param {import("./types.js").Message} message */
async function copyMessageText(message) {
  const element = document.querySelector(`#entry-${message.id}`);
  const text = message.text || [...element?.querySelectorAll(".prose") ?? []]
    .map((each) => /** @type {HTMLElement} */ (each).innerText).join("\n\n");
  await copyText(text, "Text");
}

/**
 * Show the entries of a message as they are in the store and in the log.
 *
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Message} message
 */
export async function showRaw(view, message) {
  const ids = [message.id, ...(message.calls ?? []).flatMap(({ id, result_id }) => [id, result_id])];
  const entries = [...new Set(ids.filter(Boolean))];
  const path = `/sessions/${encodeURIComponent(view.session)}/entries/`;
  const loaded = await Promise.all(entries.map((id) => get(path + id, {}, view.signal)));
  const parts = loaded.flatMap(({ entry, line }, i) => [
    h("h3", {}, `Entry ${entries[i]}`),
    drawJson(entry, `Entry ${i + 1}`),
    h("h3", {}, "Line in the log"),
    line === null ? h("p", { class: "faint" }, "The original line is gone or cannot be shown.") : drawJson(line, `Line ${i + 1}`),
  ]);
  const dialog = h(
    "dialog",
    { class: "raw", "aria-label": "Raw JSON", onclose: () => dialog.remove() },
    h("h2", {}, "Raw JSON"),
    parts,
    h("form", { method: "dialog", class: "dialog-end" }, h("button", {}, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {unknown} value
 * @param {string} label
 */
function drawJson(value, label) {
  return h("pre", { class: "output", tabindex: "0", role: "group", "aria-label": label }, JSON.stringify(value, null, 2));
}

/**
 * Show a message with its secrets until it is drawn again.
 *
 * @param {import("./types.js").Message} message
 * @param {import("./view.js").View} view
 * @param {import("./types.js").Place} place
 */
async function reveal(message, view, place) {
  const element = document.querySelector(`#entry-${message.id}`);
  const page = Number(element?.closest("[data-page]")?.getAttribute("data-page") ?? 0);
  const { unit, subagent } = place;
  const body = { unit, page, subagent };
  const data = await change("POST", `/sessions/${encodeURIComponent(view.session)}/reveal`, body);
  const revealed = data.messages.find((/** @type {any} */ each) => each.id === message.id);
  const list = [...view.lists].find((each) => element && each.element.contains(element) && each.place.subagent === subagent);
  if (!element || !revealed || !list) return;
  const drawn = list.drawAgain(revealed, element);
  drawn.classList.add("revealed");
  element.replaceWith(drawn);
  list.drawn.delete(`entry-${message.id}`);
  showToast("Secrets are shown until you leave this page");
}
