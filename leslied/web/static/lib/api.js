/** Requests to the JSON API. */

/** An answer that is an error: a sentence, and what to do about it. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {string} hint
   * @param {number} status
   * @param {boolean} [isTemporary] Whether the same question may be answered soon.
   */
  constructor(message, hint, status, isTemporary = false) {
    super(message);
    this.hint = hint;
    this.status = status;
    this.isTemporary = isTemporary;
  }
}

/** Make the error of a request that got no answer. */
export function makeUnreachableError() {
  return new ApiError("leslied does not answer.", "Start it again: `leslied web`", 0);
}

/**
 * Ask an endpoint, such as `/sessions`, and return its data. Parameters that are empty
 * are left out.
 *
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [params]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, params = {}, signal) {
  return await request(`/api${path}${toQuery(params)}`, { signal });
}

/**
 * Ask for a change. The request is sent also if the page is closed meanwhile.
 *
 * @param {"POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {Record<string, unknown>} [body]
 * @returns {Promise<any>}
 */
export async function change(method, path, body = {}) {
  const meta = document.querySelector("meta[name=leslied-token]");
  const headers = {
    "Content-Type": "application/json",
    "X-Leslied-Token": meta?.getAttribute("content") ?? "",
  };
  return await request(`/api${path}`, { method, headers, body: JSON.stringify(body), keepalive: true });
}

/**
 * @param {Record<string, string | number | boolean | null | undefined>} params
 * @returns {string}
 */
export function toQuery(params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== "" && value !== null && value !== undefined && value !== false) {
      query.set(name, String(value));
    }
  }
  const text = query.toString();
  return text && `?${text}`;
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function request(url, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw makeUnreachableError();
  }
  if (response.status === 401) {
    throw new ApiError("You are not logged in.", "Run `leslied web` and open its link.", 401);
  }
  const envelope = await response.json();
  if (!envelope.success) {
    const { message, hint } = envelope.error;
    throw new ApiError(message, hint ?? "", response.status, response.headers.has("Retry-After"));
  }
  return envelope.data;
}
