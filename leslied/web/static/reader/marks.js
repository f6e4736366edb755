/** The star, tags and note in the reader, and the visit that makes a session read. */

import { h } from "../lib/dom.js";
import { addShortcut } from "../lib/keys.js";
import { onLive, onReconnect } from "../lib/live.js";
import { loadMarks, markVisited, onMarksChange, setStar } from "../lib/marks.js";
import { makeIcon } from "../ui/icons.js";
import { addUndoShortcut, openMarksEditor } from "../ui/marks_editor.js";
import { showToast } from "../ui/toast.js";

/** @typedef {import("../lib/marks.js").Marks} Marks */

export class ReaderMarks {
  /**
   * @param {string} session
   * @param {AbortSignal} signal
   */
  constructor(session, signal) {
    this.session = session;
    this.signal = signal;
    this.title = "";
    this.isStarred = false;
    /** Whether the session went on after the last visit that was recorded. */
    this.hasUnseen = true;
    this.star = h("button", { type: "button", class: "icon-button star", "aria-label": "Star", "aria-pressed": "false", title: "Star (s)", onclick: () => void this.toggleStar() }, makeIcon("star"));
    this.edit = h("button", { type: "button", class: "marks-button", title: "Tags and note (e)", onclick: () => void this.openEditor() }, makeIcon("tag"), h("span", {}, "Tags, note"));
    /** What is shown above the first unit. */
    this.element = h("section", { class: "reader-marks", "aria-label": "Tags and note", hidden: true });
    this.loaded = this.load();
  }

  /** Load and draw the marks; without them, everything else can be read. */
  async load() {
    try {
      this.draw(await loadMarks(this.session, this.signal));
    } catch {
      this.element.hidden = true;
    }
  }

  /**
   * Follow changes from now on, and record the visit.
   *
   * @param {string} session Its whole id.
   */
  start(session) {
    const { signal } = this;
    this.session = session;
    onMarksChange((marks) => { if (marks.id === this.session) this.draw(marks); }, signal);
    onLive((event) => {
      if (event.type === "annotations" && event.ids.includes(this.session)) void this.load();
      if (event.type === "sessions" && event.ids.includes(this.session)) this.hasUnseen = true;
    }, signal);
    onReconnect(() => void this.load(), signal);
    addShortcut("s", "Add or remove the star", () => void this.toggleStar(), signal);
    addShortcut("e", "Edit tags and note", () => void this.openEditor(), signal);
    addUndoShortcut(signal);
    if (document.visibilityState === "visible") this.visit();
    document.addEventListener("visibilitychange", () => this.visit(), { signal });
    signal.addEventListener("abort", () => this.visit());
  }

  /** Record the visit when the user comes to the session and when they leave it. */
  visit() {
    if (!this.hasUnseen) return;
    this.hasUnseen = false;
    // Reading does not depend on it: without the record, the session stays unread.
    void markVisited(this.session).catch(() => {});
  }

  /** @param {Marks} marks */
  draw({ starred, tags, note }) {
    this.isStarred = starred;
    this.star.setAttribute("aria-pressed", String(starred));
    this.element.hidden = !tags.length && !note;
    this.element.replaceChildren(
      h(
        "div",
        { class: "reader-tags" },
        tags.map((tag) => h("a", { class: "chip on", href: `/?tag=${encodeURIComponent(tag)}`, title: "All sessions with this tag" }, tag)),
        h("button", { type: "button", class: "link-button small", onclick: () => void this.openEditor() }, "Edit"),
      ),
      note ? h("p", { class: "reader-note", dir: "auto" }, note) : "",
    );
  }

  async toggleStar() {
    try {
      await setStar(this.session, !this.isStarred);
    } catch (error) {
      showToast(error instanceof Error ? error.message : String(error), "close");
    }
  }

  openEditor() {
    return openMarksEditor(this.session, this.title);
  }
}
