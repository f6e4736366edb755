/**
 * The command palette: type a few letters to go to a page or a session, to do something,
 * or to search everything. A combobox with a list, as WAI-ARIA describes it.
 */

import { get, toQuery } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { copyText } from "../lib/copy.js";
import { formatWhen } from "../lib/format.js";
import { listShortcuts } from "../lib/keys.js";
import { go } from "../lib/router.js";
import { showHelp } from "./help.js";
import { changeTheme } from "./theme.js";
import { showToast } from "./toast.js";

/**
 * @typedef {object} Item
 * @property {string} group
 * @property {string} label
 * @property {string} [about]
 * @property {() => void | Promise<void>} run
 */

const LIST_ID = "palette-list";
const SESSION_PATH = /^\/s\/([^/]+)$/;

/** @type {Palette | null} */
let current = null;

/**
 * Open the palette, or close it if it is open.
 *
 * @param {{ name: string, path: string }[]} pages
 */
export function togglePalette(pages) {
  if (current) current.close();
  else current = new Palette(pages);
}

/** The open palette. */
class Palette {
  /** @param {{ name: string, path: string }[]} pages */
  constructor(pages) {
    this.pages = pages;
    this.shortcutItems = makeShortcutItems();
    /** @type {Item[]} */
    this.items = [];
    /** @type {Item[]} */
    this.sessionItems = [];
    this.active = 0;
    /** Whether the user chose the active item; it then stays active when others arrive. */
    this.isChosen = false;
    /** @type {AbortController | null} */
    this.request = null;
    this.list = h("ul", { id: LIST_ID, role: "listbox", "aria-label": "Commands" });
    this.status = h("p", { class: "palette-status", role: "status" });
    this.box = h("input", {
      type: "text",
      role: "combobox",
      "aria-label": "Go to a page or a session, or do something",
      "aria-expanded": "true",
      "aria-controls": LIST_ID,
      "aria-autocomplete": "list",
      placeholder: "Go to a page or a session, or search…",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: "500",
      oninput: () => this.update(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.handleKey(event),
    });
    this.dialog = h(
      "dialog",
      { class: "palette", "aria-label": "Command palette" },
      this.box,
      this.list,
      this.status,
    );
    this.dialog.addEventListener("close", () => this.dispose());
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.close();
    });
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.box.focus();
    this.update();
  }

  close() {
    this.dialog.close();
  }

  dispose() {
    this.request?.abort();
    this.dialog.remove();
    if (current === this) current = null;
  }

  /** Show what matches the box now, then the sessions when the server has answered. */
  update() {
    this.status.replaceChildren();
    this.active = 0;
    this.isChosen = false;
    this.draw();
    void this.loadSessions();
  }

  async loadSessions() {
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    const text = this.box.value.trim();
    try {
      const data = await get("/titles", { q: text, limit: text ? 8 : 5 }, request.signal);
      this.sessionItems = data.sessions.map(makeSessionItem);
    } catch (error) {
      if (request.signal.aborted) return;
      this.sessionItems = [];
      this.status.replaceChildren(error instanceof Error ? error.message : String(error));
    }
    if (!request.signal.aborted) this.draw();
  }

  /** @returns {Item[]} What the palette offers, in order; the search is the last. */
  listItems() {
    const text = this.box.value.trim();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const actions = this.makeActionItems();
    const shortcuts = text ? this.shortcutItems.filter(({ label }) => !actions.some((action) => action.label === label)) : [];
    const commands = [...this.makePageItems(), ...actions, ...shortcuts].filter((item) =>
      words.every((word) => item.label.toLowerCase().includes(word)));
    const search = text ? [makeSearchItem(text)] : [];
    return [...commands, ...this.sessionItems, ...search];
  }

  /** @returns {Item[]} */
  makePageItems() {
    return this.pages.map(({ name, path }) => ({ group: "Pages", label: name, run: () => go(path) }));
  }

  /** @returns {Item[]} */
  makeActionItems() {
    const session = SESSION_PATH.exec(location.pathname)?.[1];
    /** @type {Item[]} */
    const items = [
      { group: "Actions", label: "Change the theme", run: changeTheme },
      { group: "Actions", label: "Show keyboard shortcuts", run: showHelp },
    ];
    if (!session) return items;
    const copy = () => copyResumeCommand(decodeURIComponent(session));
    const label = "Copy the command that resumes this session";
    return [{ group: "Actions", label, run: copy }, ...items];
  }

  draw() {
    const chosen = this.isChosen ? this.items[this.active] : undefined;
    this.items = this.listItems();
    const index = this.items.findIndex((item) => item.group === chosen?.group && item.label === chosen.label);
    this.active = Math.max(index, 0);
    this.list.replaceChildren();
    let group = "";
    for (const [index, item] of this.items.entries()) {
      if (item.group !== group) {
        this.list.append(h("li", { role: "presentation", class: "palette-group" }, item.group));
      }
      group = item.group;
      this.list.append(this.drawItem(item, index));
    }
    this.markActive();
  }

  /**
   * @param {Item} item
   * @param {number} index
   */
  drawItem(item, index) {
    return h(
      "li",
      {
        id: `palette-item-${index}`,
        role: "option",
        onclick: () => this.run(index),
        onmousemove: () => this.setActive(index),
      },
      h("span", { class: "palette-label", dir: "auto" }, item.label),
      item.about && h("span", { class: "palette-about" }, item.about),
    );
  }

  /** @param {number} index */
  setActive(index) {
    if (index === this.active) return;
    this.isChosen = true;
    this.active = index;
    this.markActive();
  }

  markActive() {
    for (const option of this.list.querySelectorAll("[role=option]")) {
      const isActive = option.id === `palette-item-${this.active}`;
      option.setAttribute("aria-selected", String(isActive));
      if (isActive) option.scrollIntoView({ block: "nearest" });
    }
    if (this.items.length) {
      this.box.setAttribute("aria-activedescendant", `palette-item-${this.active}`);
    } else {
      this.box.removeAttribute("aria-activedescendant");
    }
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const count = this.items.length;
    const last = count - 1;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowDown: this.active === last ? 0 : this.active + 1,
      ArrowUp: this.active === 0 ? last : this.active - 1,
      PageDown: last,
      PageUp: 0,
    };
    const target = targets[event.key];
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) this.close();
    else if (event.key === "Enter" && count) this.run(this.active);
    else if (target !== undefined && count) this.setActive(target);
    else return;
    event.preventDefault();
  }

  /** @param {number} index */
  run(index) {
    const item = this.items[index];
    if (!item) return;
    this.close();
    void item.run();
  }
}

/** @returns {Item[]} What the keys of the page that is shown do. */
function makeShortcutItems() {
  return listShortcuts().filter(({ isGlobal }) => !isGlobal).map(({ keys, about, run }) => ({
    group: "On this page",
    label: about,
    about: keys,
    run: () => run(new KeyboardEvent("keydown", { key: keys })),
  }));
}

/**
 * @param {any} session
 * @returns {Item}
 */
function makeSessionItem(session) {
  const about = [session.agent, session.project, formatWhen(session.ended_at)];
  return {
    group: "Sessions",
    label: session.title || session.session_id,
    about: about.filter(Boolean).join(" · "),
    run: () => go(`/s/${encodeURIComponent(session.session_id)}`),
  };
}

/**
 * @param {string} text
 * @returns {Item}
 */
function makeSearchItem(text) {
  return {
    group: "Search",
    label: `Search everything for “${text}”`,
    run: () => go(`/search${toQuery({ q: text })}`),
  };
}

/** @param {string} session */
async function copyResumeCommand(session) {
  try {
    const data = await get("/titles", { q: session, limit: 1 });
    const command = data.sessions[0]?.resume_command;
    if (command) await copyText(command, "Command");
    else showToast("This agent cannot resume a session.", "close");
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), "close");
  }
}
