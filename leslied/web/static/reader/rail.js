/** The prompts of the session beside it; on phones in a sheet. */

import { h } from "../lib/dom.js";
import { formatCost, formatTime } from "../lib/format.js";
import { formatUnitTitle } from "./unit.js";

const KEY = "leslied-rail";

/** The list of prompts. */
export class Rail {
  /** @param {(unit: number) => void} go */
  constructor(go) {
    this.go = go;
    this.list = h("ol", {});
    this.nav = h("nav", { class: "rail-nav", "aria-label": "Prompts" }, this.list);
    this.element = h("aside", { class: "rail", "aria-label": "Prompts of the session" }, this.nav);
    this.isOpen = localStorage.getItem(KEY) !== "closed";
    this.current = -1;
    /** @type {HTMLDialogElement | null} */
    this.sheet = null;
  }

  /** @param {import("./types.js").Unit[]} units */
  draw(units) {
    this.list.replaceChildren(...units.map((unit) => this.drawItem(unit)));
    this.mark(this.current);
  }

  /** @param {import("./types.js").Unit} unit */
  drawItem(unit) {
    const marks = [
      unit.rewound && h("span", { class: "badge waiting" }, "rewound"),
      unit.compactions > 0 && h("span", { class: "badge" }, "compacted"),
      unit.failed_calls > 0 && h("span", { class: "badge error" }, `${unit.failed_calls} failed`),
    ];
    const link = h(
      "a",
      { href: `#unit-${unit.number}`, "data-unit": unit.number, class: unit.rewound ? "rewound" : null },
      h("span", { class: "rail-number" }, unit.number || "·"),
      h("span", { class: "rail-title" }, formatUnitTitle(unit)),
      h("span", { class: "rail-facts" }, [formatTime(unit.started_at), formatCost(unit.cost_usd)].filter(Boolean).join(" · "), marks),
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      // Nothing outside of an open sheet can get the focus.
      this.sheet?.close();
      this.go(unit.number);
    });
    return h("li", {}, link);
  }

  /**
   * Mark the unit that is being read.
   *
   * @param {number} unit
   */
  mark(unit) {
    this.current = unit;
    for (const link of this.list.querySelectorAll("a")) {
      const isCurrent = link.dataset["unit"] === String(unit);
      if (!isCurrent) {
        link.removeAttribute("aria-current");
      } else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "true");
        scrollWithin(this.nav, link);
      }
    }
  }

  /** Show or hide the rail; where it has no place, show it as a sheet. */
  toggle() {
    if (matchMedia("(max-width: 64rem)").matches) {
      this.openSheet();
      return;
    }
    this.isOpen = !this.isOpen;
    localStorage.setItem(KEY, this.isOpen ? "open" : "closed");
    this.apply();
  }

  apply() {
    this.element.parentElement?.classList.toggle("without-rail", !this.isOpen);
  }

  openSheet() {
    const dialog = h(
      "dialog",
      { class: "rail-sheet", "aria-label": "Prompts" },
      h("form", { method: "dialog", class: "dialog-end" }, h("button", {}, "Close")),
    );
    dialog.addEventListener("close", () => {
      this.element.append(this.nav);
      dialog.remove();
      this.sheet = null;
    });
    this.sheet = dialog;
    dialog.prepend(this.nav);
    document.body.append(dialog);
    dialog.showModal();
  }
}

/**
 * Scroll a box, and not the page, so that an element in it can be seen.
 *
 * @param {HTMLElement} box
 * @param {HTMLElement} element
 */
function scrollWithin(box, element) {
  const outer = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + 40;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 40;
}
