/** The list of sessions. */

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { formatCost, formatCount, formatWhen } from "../lib/format.js";
import { onLive } from "../lib/live.js";
import { makeMessage, showError } from "../lib/states.js";

/** @type {import("../lib/router.js").Page} */
export async function showPage({ root, query, signal }) {
  document.title = "Sessions · leslied";
  const draw = async () => {
    try {
      const data = await get("/sessions", Object.fromEntries(query), signal);
      root.replaceChildren(drawList(data.sessions));
    } catch (error) {
      showError(root, error);
    }
  };
  onLive((event) => { if (event.type === "sessions") void draw(); }, signal);
  await draw();
}

/** @param {any[]} sessions */
function drawList(sessions) {
  if (!sessions.length) {
    return makeMessage("No sessions yet", "Use an agent, then run: leslied sync");
  }
  return h(
    "section",
    { class: "sessions" },
    h("h1", {}, formatCount(sessions.length, "session")),
    h("ul", {}, sessions.map(drawSession)),
  );
}

/** @param {any} session */
function drawSession(session) {
  return h(
    "li",
    {},
    h("a", { href: `/s/${encodeURIComponent(session.id)}` }, session.title || session.id),
    ` ${session.agent} · ${session.status} · ${formatWhen(session.ended_at)} · `,
    formatCost(session.cost_usd),
  );
}
