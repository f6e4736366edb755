/** Changes that the server announces, one connection for the whole page. */

/**
 * @typedef {{ type: "sessions", ids: string[] }
 *   | { type: "daemon", is_running: boolean }} LiveEvent
 */

/** @type {Set<(event: LiveEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const reconnectListeners = new Set();
/** @type {Set<(isConnected: boolean) => void>} */
const connectionListeners = new Set();
const RETRY_MILLISECONDS = 3000;

/** Connect, and connect again whenever the connection is lost. */
export function connect() {
  listen(false);
}

/** @param {boolean} hasFailed Whether an earlier connection was lost. */
function listen(hasFailed) {
  const source = new EventSource("/api/events");
  source.onmessage = (message) => {
    const event = /** @type {LiveEvent | { type: "store" }} */ (JSON.parse(message.data));
    if (event.type === "store") {
      for (const listener of reconnectListeners) listener();
      return;
    }
    for (const listener of listeners) listener(event);
  };
  source.onopen = () => {
    for (const listener of connectionListeners) listener(true);
    if (hasFailed) for (const listener of reconnectListeners) listener();
  };
  source.onerror = () => {
    // Browsers give up after some kinds of failure, so the page does not leave it to them.
    source.close();
    for (const listener of connectionListeners) listener(false);
    setTimeout(() => listen(true), RETRY_MILLISECONDS);
  };
}

/** @param {(isConnected: boolean) => void} listener Called when this changes. */
export function onConnectionChange(listener) {
  connectionListeners.add(listener);
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
