/** One session, to read: its units one below the other, and its prompts beside them. */

import { get } from "../lib/api.js";
import { copyText } from "../lib/copy.js";
import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { addShortcut } from "../lib/keys.js";
import { onLive, onReconnect } from "../lib/live.js";
import * as router from "../lib/router.js";
import { makeMessage, makeSkeleton } from "../lib/states.js";
import { showToast } from "../ui/toast.js";
import { ReaderHeader } from "../reader/header.js";
import { ReaderMarks } from "../reader/marks.js";
import { copyLink, showRaw } from "../reader/menu.js";
import { openNeighbour } from "../reader/neighbours.js";
import { findCurrentMessage, findCurrentUnit, goToEntry, moveToMessage } from "../reader/place.js";
import { Rail } from "../reader/rail.js";
import { UnitSection } from "../reader/unit.js";
import { View } from "../reader/view.js";

const THINKING_KEY = "leslied-thinking";
const END_PIXELS = 120;

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, params, signal }) {
  root.replaceChildren(makeSkeleton());
  scrollTo(0, 0);
  await new Reader(root, params["id"] ?? "", signal).open();
}

/** The page of one session. */
class Reader {
  /**
   * @param {HTMLElement} root
   * @param {string} session
   * @param {AbortSignal} signal
   */
  constructor(root, session, signal) {
    this.root = root;
    this.signal = signal;
    this.page = h("div", { class: "reader", "aria-busy": "true" });
    this.view = new View(session, this.page, signal);
    this.marks = new ReaderMarks(session, signal);
    this.header = new ReaderHeader(session, this.marks, {
      toggleRail: () => this.rail.toggle(),
      toggleThinking: () => this.toggleThinking(),
      toggleCalls: () => this.toggleCalls(),
    });
    this.rail = new Rail((unit) => this.goToUnit(unit));
    this.units = h("div", { class: "units" }, this.marks.element);
    this.pill = h("button", { class: "new-messages", type: "button", hidden: true, onclick: () => this.goToEnd() });
    /** @type {Map<number, UnitSection>} */
    this.sections = new Map();
    /** @type {import("../reader/types.js").Outline | null} */
    this.outline = null;
    this.newMessages = 0;
    this.isRefreshing = false;
    this.isRefreshDue = false;
    this.isScrollHandled = false;
    /** The unit that the reader went to; the last units may not reach the top. */
    this.chosen = { unit: -1, top: -1 };
  }

  async open() {
    this.addShortcutsToLeave();
    this.page.append(this.header.element, this.rail.element, this.units, this.pill);
    this.applyThinking();
    const start = location.hash ? null : await this.showStart();
    const outline = await this.fetchOutline(0);
    this.view.session = outline.session.id;
    this.view.project = outline.session.project;
    this.draw(outline);
    if (start) void this.completeStart(start);
    await this.goToStart(outline);
    if (this.signal.aborted) return;
    this.addShortcuts();
    this.listen();
    this.marks.start(outline.session.id);
    this.page.removeAttribute("aria-busy");
    void this.view.loadInBackground([...this.sections.values()].map(({ list }) => list));
  }

  /** Show the first messages at once; the outline of a long session takes longer. */
  async showStart() {
    const { session, page } = await get(`/sessions/${encodeURIComponent(this.view.session)}/start`, {}, this.signal);
    if (!page?.messages.length) return null;
    // Tags and note are above the messages: if they came later, the messages would move.
    await this.marks.loaded;
    this.view.session = session.id;
    this.view.project = session.project;
    const unit = makeUnknownUnit(page);
    this.draw({ session, resume_command: null, units: [unit], context: [], position: null });
    this.sections.get(unit.number)?.list.drawPage(0, page);
    this.root.replaceChildren(this.page);
    this.rail.apply();
    return unit;
  }

  /**
   * Load the first page of a long unit again: a result may have come much later.
   *
   * @param {import("../reader/types.js").Unit} start
   */
  async completeStart({ number, messages }) {
    const section = this.sections.get(number);
    if (section && section.unit.messages !== messages) await section.list.reload(0).catch(showProblem);
  }

  /** @param {number} first */
  async fetchOutline(first) {
    /** @type {import("../reader/types.js").Outline} */
    const outline = await get(`/sessions/${encodeURIComponent(this.view.session)}/outline`, { first }, this.signal);
    return outline;
  }

  /**
   * Load the part that the address names, or the first unit, before anything is shown.
   *
   * @param {import("../reader/types.js").Outline} outline
   */
  async goToStart(outline) {
    const entry = /^#entry-([0-9a-f]+)$/.exec(location.hash)?.[1] ?? outline.position?.entry;
    const unit = /^#unit-(\d+)$/.exec(location.hash)?.[1] ?? outline.position?.unit;
    if (!entry && unit === undefined) await this.sections.values().next().value?.list.load(0);
    if (!this.page.isConnected) this.root.replaceChildren(this.page);
    this.rail.apply();
    if (!outline.units.length) this.units.append(makeMessage("Nothing was said yet", "New messages appear here."));
    this.onScroll();
    if (entry) await goToEntry(this.view, this.sections, entry).catch(showProblem);
    else if (unit !== undefined && unit !== null) await this.goToUnit(Number(unit));
  }

  /** @param {import("../reader/types.js").Outline} outline */
  draw(outline) {
    this.outline = outline;
    this.marks.title = outline.session.title || outline.session.id;
    document.title = `${this.marks.title} · leslied`;
    this.header.draw(outline);
    this.rail.draw(outline.units);
    for (const unit of outline.units) {
      const section = this.sections.get(unit.number);
      if (section) {
        section.update(unit);
        continue;
      }
      const added = new UnitSection(this.view, unit);
      this.sections.set(unit.number, added);
      this.units.querySelector(".message-box")?.remove();
      this.units.append(added.element);
    }
  }

  /** @param {number} unit */
  async goToUnit(unit) {
    const section = this.sections.get(unit);
    await section?.list.load(0);
    section?.element.scrollIntoView({ block: "start" });
    section?.element.focus({ preventScroll: true });
    history.replaceState(null, "", `${location.pathname}#unit-${unit}`);
    this.chosen = { unit, top: scrollY };
    this.rail.mark(unit);
  }

  findCurrentUnit() {
    const { unit, top } = this.chosen;
    return Math.abs(scrollY - top) < 2 ? unit : findCurrentUnit(this.view);
  }

  /** @param {1 | -1} step */
  async moveToUnit(step) {
    const numbers = [...this.sections.keys()];
    const number = this.findCurrentUnit();
    const next = numbers[numbers.indexOf(number) + step];
    if (next !== undefined) await this.goToUnit(next);
    else if (step === -1) await this.goToUnit(numbers[0] ?? 0);
  }

  /**
   * @param {string} keys
   * @param {string} about
   * @param {() => unknown} run
   */
  addShortcut(keys, about, run) {
    addShortcut(keys, about, () => void run(), this.signal);
  }

  /** Leave the session; also while it is still loading, so that `]` can be pressed repeatedly. */
  addShortcutsToLeave() {
    this.addShortcut("[", "Previous session of the list", () => openNeighbour(this.view.session, -1));
    this.addShortcut("]", "Next session of the list", () => openNeighbour(this.view.session, 1));
    this.addShortcut("Escape", "Back to the list", () => router.go(router.getLastAddress("/")));
  }

  addShortcuts() {
    const add = this.addShortcut.bind(this);
    add("j", "Next message", () => moveToMessage(this.view, 1));
    add("k", "Previous message", () => moveToMessage(this.view, -1));
    add("J", "Next prompt", () => this.moveToUnit(1));
    add("K", "Previous prompt", () => this.moveToUnit(-1));
    add("G", "End of the session", () => this.goToEnd());
    add("o", "Unfold the calls of the message", () => this.toggleCurrentCalls());
    add("O", "Unfold all calls", () => this.toggleCalls());
    add("T", "Show or hide thinking", () => this.toggleThinking());
    add("p", "Show or hide the prompts", () => this.rail.toggle());
    add("c", "Copy the command that resumes this session", () => this.copyCommand());
    add("l", "Copy a link to the message", () => this.copyCurrentLink());
    add("r", "Raw JSON of the message", () => this.showCurrentRaw());
  }

  copyCommand() {
    const command = this.outline?.resume_command;
    if (command) return copyText(command, "Command");
    showToast("This agent has no command to resume a session", "close");
    return null;
  }

  copyCurrentLink() {
    const message = findCurrentMessage(this.view);
    return message && copyLink(this.view, message.id.replace("entry-", ""));
  }

  async showCurrentRaw() {
    const message = findCurrentMessage(this.view);
    const json = message && [...this.view.lists].map(({ drawn }) => drawn.get(message.id)).find(Boolean);
    if (json) await showRaw(this.view, JSON.parse(json)).catch(showProblem);
  }

  toggleCurrentCalls() {
    const calls = [...findCurrentMessage(this.view)?.querySelectorAll("details") ?? []];
    const isOpen = calls.every((call) => call.open);
    for (const call of calls) call.open = !isOpen;
  }

  toggleCalls() {
    this.view.areCallsOpen = !this.view.areCallsOpen;
    this.header.calls.setAttribute("aria-pressed", String(this.view.areCallsOpen));
    for (const call of this.units.querySelectorAll("details.call")) {
      if (call instanceof HTMLDetailsElement) call.open = this.view.areCallsOpen;
    }
  }

  toggleThinking() {
    const isShown = localStorage.getItem(THINKING_KEY) !== "hidden";
    localStorage.setItem(THINKING_KEY, isShown ? "hidden" : "shown");
    this.applyThinking();
  }

  applyThinking() {
    const isShown = localStorage.getItem(THINKING_KEY) !== "hidden";
    this.page.classList.toggle("without-thinking", !isShown);
    this.header.thinking.setAttribute("aria-pressed", String(isShown));
  }

  listen() {
    const { signal } = this;
    onLive((event) => {
      if (event.type === "sessions" && event.ids.includes(this.view.session)) void this.refresh();
    }, signal);
    onReconnect(() => void this.refresh(), signal);
    addEventListener("scroll", () => this.onScroll(), { passive: true, signal });
  }

  onScroll() {
    if (this.isScrollHandled) return;
    this.isScrollHandled = true;
    requestAnimationFrame(() => {
      this.isScrollHandled = false;
      this.rail.mark(this.findCurrentUnit());
      if (this.isAtEnd()) this.showNewMessages(0);
    });
  }

  isAtEnd() {
    return document.documentElement.scrollHeight - scrollY - innerHeight < END_PIXELS;
  }

  async goToEnd() {
    const last = [...this.sections.values()].at(-1)?.list;
    await last?.load(last.pages.length - 1);
    scrollTo(0, document.documentElement.scrollHeight);
    this.showNewMessages(0);
  }

  /** Draw new messages; an event that arrives meanwhile causes one more refresh. */
  async refresh() {
    this.isRefreshDue = true;
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    try {
      while (this.isRefreshDue && !this.signal.aborted) {
        this.isRefreshDue = false;
        await this.addNewMessages();
      }
    } catch (error) {
      if (!this.signal.aborted) showProblem(error);
    } finally {
      this.isRefreshing = false;
    }
  }

  async addNewMessages() {
    const first = Math.max(...this.sections.keys(), 0);
    const isAtEnd = this.isAtEnd();
    const outline = await this.fetchOutline(first);
    const known = this.outline;
    const earlier = (known?.units ?? []).filter(({ number }) => number < first);
    const context = (known?.context ?? []).filter(([unit]) => unit < first);
    this.draw({ ...outline, units: [...earlier, ...outline.units], context: [...context, ...outline.context] });
    const before = this.units.querySelectorAll(".message").length;
    for (const { number } of outline.units) await this.sections.get(number)?.list.refresh();
    for (const list of this.view.lists) {
      if (list.place.subagent && list.element.isConnected) await list.refresh();
    }
    const added = this.units.querySelectorAll(".message").length - before;
    if (isAtEnd) scrollTo(0, document.documentElement.scrollHeight);
    else if (added > 0) this.showNewMessages(this.newMessages + added);
  }

  /** @param {number} count */
  showNewMessages(count) {
    this.newMessages = count;
    this.pill.hidden = count === 0;
    this.pill.textContent = `${formatCount(count, "new message")} ↓`;
  }
}

/**
 * Return a unit of which only the first messages are known.
 *
 * @param {{ unit: number } & import("../reader/types.js").MessagePage} page
 * @returns {import("../reader/types.js").Unit}
 */
function makeUnknownUnit({ unit, pages, total, messages }) {
  const prompt = messages.find(({ speaker }) => speaker === "user");
  return {
    number: unit, pages, messages: total, chat_id: "", title: prompt?.text?.split("\n")[0]?.slice(0, 160) ?? "",
    started_at: prompt?.at ?? null, ended_at: null, stop_reason: "", rewound: false, entries: 0, tool_calls: 0,
    failed_calls: 0, compactions: 0, subagents: 0, cost_usd: null,
  };
}

/** @param {unknown} error */
function showProblem(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  showToast(error instanceof Error ? error.message : String(error), "close");
}
