/**
 * Changes that the server announces. All tabs share one connection, because browsers open
 * at most six to a server: the tab that holds a lock listens and passes on the events.
 */

/**
 * @typedef {{ type: "sessions" | "annotations", ids: string[] }
 *   | { type: "daemon", is_running: boolean }} LiveEvent
 *
 * @typedef {LiveEvent | { type: "store" }
 *   | { type: "connection", isConnected: boolean, wasLost: boolean }
 *   | { type: "hello" }
 *   | { type: "welcome", messages: Message[] }} Message
 */

/** @type {Set<(event: LiveEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const reconnectListeners = new Set();
/** @type {Set<(isConnected: boolean) => void>} */
const connectionListeners = new Set();
const RETRY_MILLISECONDS = 3000;
const SHARED_NAME = "leslied-live";
const channel = new BroadcastChannel(SHARED_NAME);
/**
 * Messages that a new tab must receive: the last about the connection and the daemon.
 *
 * @type {Map<string, Message>}
 */
const lastMessages = new Map();
let isListening = false;

/** Connect, and connect again whenever the connection is lost. */
export function connect() {
  channel.onmessage = (message) => receive(/** @type {Message} */ (message.data));
  channel.postMessage({ type: "hello" });
  // The lock is held until the tab is closed; then another tab gets it.
  void navigator.locks.request(SHARED_NAME, () => {
    isListening = true;
    listen(lastMessages.size > 0);
    return new Promise(() => {});
  });
}

/** @param {boolean} wasLost Whether an earlier connection was lost. */
function listen(wasLost) {
  const source = new EventSource("/api/events");
  source.onmessage = (message) => publish(JSON.parse(message.data));
  source.onopen = () => publish({ type: "connection", isConnected: true, wasLost });
  source.onerror = () => {
    // Browsers give up after some kinds of failure, so the page does not leave it to them.
    source.close();
    publish({ type: "connection", isConnected: false, wasLost: true });
    setTimeout(() => listen(true), RETRY_MILLISECONDS);
  };
}

/** @param {Message} message Message for this tab and all others. */
function publish(message) {
  channel.postMessage(message);
  receive(message);
}

/** @param {Message} message Message of the server, or of another tab. */
function receive(message) {
  switch (message.type) {
    case "hello":
      if (isListening) {
        channel.postMessage({ type: "welcome", messages: [...lastMessages.values()] });
      }
      return;
    case "welcome":
      // Only a new tab knows nothing yet.
      if (!lastMessages.size) message.messages.forEach(receive);
      return;
    case "connection":
      lastMessages.set(message.type, message);
      for (const listener of connectionListeners) listener(message.isConnected);
      if (message.isConnected && message.wasLost) announceGap();
      return;
    case "store":
      announceGap();
      return;
    case "daemon":
      lastMessages.set(message.type, message);
  }
  for (const listener of listeners) listener(message);
}

/** Tell everybody that events may be missing. */
function announceGap() {
  for (const listener of reconnectListeners) listener();
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
