/** State that all parts of the reader share: session, settings, and loading of pages. */

const NEAR_PIXELS = 2500;
const MAX_BACKGROUND_PAGES = 400;

/** State of one reader page. */
export class View {
  /**
   * @param {string} session
   * @param {HTMLElement} root
   * @param {AbortSignal} signal
   */
  constructor(session, root, signal) {
    this.session = session;
    this.root = root;
    this.signal = signal;
    /** @type {string | null} */
    this.project = null;
    this.areCallsOpen = false;
    /** @type {Set<string>} */
    this.openSubagents = new Set();
    /** @type {Set<import("./message_list.js").MessageList>} */
    this.lists = new Set();
    this.observer = new IntersectionObserver((entries) => this.loadNear(entries), {
      rootMargin: `${NEAR_PIXELS}px 0px`,
    });
    signal.addEventListener("abort", () => this.observer.disconnect());
  }

  /**
   * Load the pages of a list when they come near the screen.
   *
   * @param {import("./message_list.js").MessageList} list
   */
  watch(list) {
    this.lists.add(list);
    for (const page of list.pages) this.observer.observe(page);
  }

  /** @param {IntersectionObserverEntry[]} entries */
  loadNear(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      const list = [...this.lists].find((each) => each.pages.includes(/** @type {HTMLElement} */ (target)));
      const number = list?.pages.indexOf(/** @type {HTMLElement} */ (target)) ?? -1;
      if (list && number >= 0) void list.load(number).catch(() => {});
    }
  }

  /**
   * Load the remaining pages one after the other, so that scrolling never waits. Very
   * long sessions are loaded only where the reader is.
   *
   * @param {import("./message_list.js").MessageList[]} lists
   */
  async loadInBackground(lists) {
    let loaded = 0;
    for (const list of lists) {
      for (let number = 0; number < list.pages.length; number += 1) {
        if (this.signal.aborted || loaded >= MAX_BACKGROUND_PAGES) return;
        if (list.isLoaded(number)) continue;
        await list.load(number).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve));
        loaded += 1;
      }
    }
  }
}
