/** Changes that the server announces, one connection for the whole page. */

/**
 * @typedef {{ type: "sessions", ids: string[] }
 *   | { type: "daemon", is_running: boolean }} LiveEvent
 */

/** @type {Set<(event: LiveEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const reconnectListeners = new Set();
/** @type {EventSource | null} */
let source = null;

/** Connect; the browser connects again by itself. */
export function connect() {
  source = new EventSource("/api/events");
  let hasFailed = false;
  source.onmessage = (message) => {
    const event = /** @type {LiveEvent | { type: "store" }} */ (JSON.parse(message.data));
    if (event.type === "store") {
      for (const listener of reconnectListeners) listener();
      return;
    }
    for (const listener of listeners) listener(event);
  };
  source.onerror = () => { hasFailed = true; };
  source.onopen = () => {
    if (hasFailed) for (const listener of reconnectListeners) listener();
    hasFailed = false;
  };
}

/**
 * Call a function for every event until the signal is aborted.
 *
 * @param {(event: LiveEvent) => void} listener
 * @param {AbortSignal} [signal]
 */
export function onLive(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener));
}

/**
 * Call a function when events may be missing: a lost connection is back, or the store was
 * replaced.
 *
 * @param {() => void} listener
 * @param {AbortSignal} [signal]
 */
export function onReconnect(listener, signal) {
  reconnectListeners.add(listener);
  signal?.addEventListener("abort", () => reconnectListeners.delete(listener));
}
