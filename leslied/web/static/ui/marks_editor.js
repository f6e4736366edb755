/** The dialog in which the tags and the note of a session are edited. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { addShortcut } from "../lib/keys.js";
import { onLive } from "../lib/live.js";
import { editMarks, loadMarks, undoEdit } from "../lib/marks.js";
import { makeIcon } from "./icons.js";
import { showToast } from "./toast.js";

/** @typedef {import("../lib/marks.js").Marks} Marks */

const MAX_NOTE_CHARACTERS = 10_000;
const TAG_LIST_ID = "known-tags";
const SECRET = /\[REDACTED:[\w-]+:\w+\]/;

/**
 * Open the dialog for a session.
 *
 * @param {string} session Its id.
 * @param {string} title
 */
export async function openMarksEditor(session, title) {
  if (document.querySelector("dialog[open]")) return;
  try {
    const [marks, counts] = await Promise.all([loadMarks(session), get("/tags")]);
    const known = counts.tags.map((/** @type {{ name: string }} */ { name }) => name);
    new MarksEditor(marks, title, known).open();
  } catch (error) {
    showProblem(error);
  }
}

/**
 * Register the key that takes the last edit back.
 *
 * @param {AbortSignal} signal
 */
export function addUndoShortcut(signal) {
  addShortcut("z", "Undo the last change of tags and note", () => void undo(), signal);
}

class MarksEditor {
  #tags;
  #marks;
  #isWarned = false;
  #closed = new AbortController();
  #chips = h("span", { class: "tag-chips" });
  #problem = h("p", { class: "editor-problem", role: "alert" });
  #input = h("input", {
    type: "text",
    id: "tag-input",
    list: TAG_LIST_ID,
    placeholder: "Add a tag",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    maxlength: "200",
    oninput: () => this.#readInput(/[\s,]/.test(this.#input.value)),
    onkeydown: (/** @type {KeyboardEvent} */ event) => this.#handleTagKey(event),
  });
  #note = h("textarea", {
    id: "note-input",
    rows: "6",
    dir: "auto",
    maxlength: String(MAX_NOTE_CHARACTERS),
    placeholder: "What to remember about this session",
  });
  #dialog;

  /**
   * @param {Marks} marks
   * @param {string} title
   * @param {string[]} known All tags, the most frequent first.
   */
  constructor(marks, title, known) {
    this.#marks = marks;
    this.#tags = [...marks.tags];
    this.#note.value = marks.note ?? "";
    this.#dialog = h(
      "dialog",
      { class: "marks-editor", "aria-labelledby": "marks-editor-title" },
      h("h2", { id: "marks-editor-title" }, "Tags and note"),
      h("p", { class: "editor-session soft clip", dir: "auto" }, title),
      this.#drawForm(known),
    );
    this.#drawChips();
  }

  open() {
    const dialog = this.#dialog;
    dialog.addEventListener("close", () => {
      this.#closed.abort();
      dialog.remove();
    });
    dialog.addEventListener("cancel", (event) => { if (!this.#mayClose()) event.preventDefault(); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog && !this.#isChanged()) dialog.close(); });
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.#save();
    });
    onLive((event) => {
      if (event.type === "annotations" && event.ids.includes(this.#marks.id)) void this.#merge();
    }, this.#closed.signal);
    document.body.append(dialog);
    dialog.showModal();
    this.#input.focus();
  }

  /** @param {string[]} known */
  #drawForm(known) {
    const secret = "A secret in this note is not shown. If you change the note, what you see here replaces it.";
    return h(
      "form",
      { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void this.#save(); } },
      h("label", { for: "tag-input" }, "Tags"),
      h("div", { class: "tag-box", onclick: () => this.#input.focus() }, this.#chips, this.#input),
      h("datalist", { id: TAG_LIST_ID }, known.map((value) => h("option", { value }))),
      h("label", { for: "note-input" }, "Note"),
      this.#note,
      SECRET.test(this.#note.value) && h("p", { class: "small soft" }, secret),
      this.#problem,
      h(
        "div",
        { class: "dialog-end" },
        h("span", { class: "small faint editor-keys" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), " saves"),
        h("button", { type: "button", class: "button", onclick: () => this.#dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "button primary" }, "Save"),
      ),
    );
  }

  #drawChips() {
    this.#chips.replaceChildren(...this.#tags.map((tag) => h(
      "button",
      { type: "button", class: "chip on", "aria-label": `Remove the tag ${tag}`, title: "Remove", onclick: () => this.#removeTag(tag) },
      tag,
      makeIcon("close"),
    )));
  }

  /** @param {KeyboardEvent} event */
  #handleTagKey(event) {
    const isEmpty = !this.#input.value.trim();
    if (event.key === "Enter" && !isEmpty && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#readInput(true);
    } else if (event.key === "Backspace" && !this.#input.value) {
      this.#tags.pop();
      this.#drawChips();
    }
  }

  /** @param {boolean} isComplete Whether the text in the box becomes tags. */
  #readInput(isComplete) {
    this.#problem.textContent = "";
    if (!isComplete) return;
    const tags = this.#input.value.split(/[\s,]+/).map(normalizeTag).filter(Boolean);
    this.#tags = [...new Set([...this.#tags, ...tags])];
    this.#input.value = "";
    this.#drawChips();
  }

  /** @param {string} tag */
  #removeTag(tag) {
    this.#tags = this.#tags.filter((each) => each !== tag);
    this.#drawChips();
    this.#input.focus();
  }

  /** @returns {import("../lib/marks.js").Edit} */
  #getEdit() {
    const { tags, note } = this.#marks;
    const text = this.#note.value.trim();
    return {
      added: this.#tags.filter((tag) => !tags.includes(tag)),
      removed: tags.filter((tag) => !this.#tags.includes(tag)),
      note: text === (note ?? "") ? null : text,
    };
  }

  #isChanged() {
    const { added, removed, note } = this.#getEdit();
    return added.length > 0 || removed.length > 0 || note !== null || Boolean(this.#input.value.trim());
  }

  /** @returns {boolean} Whether no edit would be lost, or the user was warned before. */
  #mayClose() {
    if (this.#isWarned || !this.#isChanged()) return true;
    this.#isWarned = true;
    this.#problem.textContent = "Not saved yet. Press Escape again to discard the changes.";
    return false;
  }

  /** Show changes that another tab or a command made meanwhile; keep the user's input. */
  async #merge() {
    /** @type {Marks} */
    let marks;
    try {
      marks = await loadMarks(this.#marks.id, this.#closed.signal);
    } catch {
      return;
    }
    const { added, removed, note } = this.#getEdit();
    const isNoteChanged = (marks.note ?? "") !== (this.#marks.note ?? "");
    this.#marks = marks;
    this.#tags = [...new Set([...this.#marks.tags.filter((tag) => !removed.includes(tag)), ...added])];
    this.#drawChips();
    if (note === null) this.#note.value = this.#marks.note ?? "";
    else if (isNoteChanged && note !== (this.#marks.note ?? "")) {
      this.#problem.textContent = "The note was changed elsewhere meanwhile. Saving replaces it.";
    }
  }

  async #save() {
    this.#readInput(true);
    const edit = this.#getEdit();
    if (!this.#isChanged()) return this.#dialog.close();
    try {
      await editMarks(this.#marks, edit);
    } catch (error) {
      this.#problem.textContent = formatProblem(error);
      return;
    }
    this.#dialog.close();
    showToast(describeEdit(edit, Boolean(this.#marks.note)), "check", { label: "Undo", run: undo });
  }
}

/** @param {string} text @returns {string} The tag as the server stores it. */
function normalizeTag(text) {
  return text.replace(/^#/, "").toLowerCase();
}

/**
 * @param {import("../lib/marks.js").Edit} edit
 * @param {boolean} hadNote
 */
function describeEdit({ added, removed, note }, hadNote) {
  const parts = [
    added.length ? `${formatCount(added.length, "tag")} added` : "",
    removed.length ? `${formatCount(removed.length, "tag")} removed` : "",
    note === null ? "" : note ? "note saved" : hadNote ? "note deleted" : "",
  ];
  const text = parts.filter(Boolean).join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function undo() {
  try {
    if (await undoEdit()) showToast("Undone");
    else showToast("Nothing to undo", "close");
  } catch (error) {
    showProblem(error);
  }
}

/** @param {unknown} error */
function formatProblem(error) {
  const hint = error instanceof Error && "hint" in error ? String(error.hint) : "";
  return `${error instanceof Error ? error.message : String(error)} ${hint}`.trim();
}

/** @param {unknown} error */
function showProblem(error) {
  showToast(formatProblem(error), "close");
}
