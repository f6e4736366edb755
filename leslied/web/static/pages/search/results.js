/** Results of a search: hits by session, and the facets that narrow them down. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatTime, formatWhen } from "../../lib/format.js";
import { makeMessage } from "../../lib/states.js";

/** @type {Record<string, string>} */
const TYPE_LABELS = {
  user_message: "prompt",
  assistant_message: "answer",
  thinking: "thought",
  error: "error",
  system_event: "event",
};

/**
 * How many hits there are; the server counts only so many.
 *
 * @param {any} data
 * @param {string} sort
 */
export function drawSummary(data, sort) {
  if (!data.hit_count) return "";
  const sessions = formatCount(data.session_count, "session");
  if (!data.has_more) return `${formatCount(data.hit_count, "hit")} in ${sessions}`;
  const first = sort === "rank" ? "best" : "newest";
  return `The ${first} ${formatCount(data.hit_count, "hit")}, in ${sessions}; there are more`;
}

/**
 * The filters in the query, each as a link to the query without it.
 *
 * @param {any[]} filters
 */
export function drawFilters(filters) {
  return filters.map((filter) =>
    h(
      "a",
      { ...linkTo(filter.query), class: "chip on", "aria-label": `Remove ${filter.filter}` },
      h("code", {}, filter.label),
      h("span", { "aria-hidden": "true" }, "×"),
    ));
}

/**
 * @param {any[]} facets
 * @param {boolean} hasMore
 */
export function drawFacets(facets, hasMore) {
  if (!facets.length) return "";
  const isWide = matchMedia("(min-width: 56rem)").matches;
  return h(
    "details",
    { open: isWide },
    h("summary", {}, "Narrow down"),
    h("nav", { "aria-label": "Filters" }, facets.map(drawFacet)),
    hasMore && h("p", { class: "facet-note" }, "Numbers are of the hits counted here."),
  );
}

/** @param {any} facet */
function drawFacet(facet) {
  return h(
    "section",
    {},
    h("h2", {}, facet.name),
    h("ul", {}, facet.values.map(drawFacetValue)),
  );
}

/** @param {any} value */
function drawFacetValue(value) {
  const action = value.is_active ? "Remove" : "Add";
  return h(
    "li",
    {},
    h(
      "a",
      {
        ...linkTo(value.query),
        class: value.is_active ? "facet active" : "facet",
        title: `${action} ${value.filter}`,
        "aria-current": value.is_active && "true",
      },
      h("span", { class: "facet-label" }, value.label),
      h("span", { class: "facet-count" }, formatNumber(value.count)),
    ),
  );
}

/** @param {any} data */
export function drawGroups(data) {
  if (!data.sessions.length) {
    return [makeMessage(
      "Nothing found",
      "Words match from their beginning. To find any characters inside words, choose “Any characters”; to search more, remove a filter.",
    )];
  }
  return [h("ol", { class: "groups" }, data.sessions.map(drawGroup))];
}

/** @param {any} group */
function drawGroup(group) {
  const address = `/s/${encodeURIComponent(group.session_id)}`;
  const project = group.project?.split("/").pop();
  return h(
    "li",
    { class: "group" },
    h(
      "header",
      {},
      h("h2", {}, h("a", { href: address, dir: "auto" }, group.title || group.session_id)),
      h(
        "p",
        { class: "group-facts" },
        h("span", {}, group.agent),
        project && h("span", { title: group.project }, project),
        group.ended_at && h("time", { datetime: group.ended_at }, formatWhen(group.ended_at)),
      ),
    ),
    h("ul", { class: "hits" }, group.hits.map((/** @type {any} */ hit) => h("li", {}, drawHit(hit, address)))),
    group.hidden > 0 && h(
      "a",
      { ...linkTo(group.query), class: "group-more" },
      `${formatNumber(group.hidden)} more in this session`,
    ),
  );
}

/**
 * @param {any} hit
 * @param {string} address
 */
function drawHit(hit, address) {
  return h(
    "a",
    { class: "hit", href: `${address}#entry-${encodeURIComponent(hit.entry_id)}` },
    h(
      "span",
      { class: "hit-facts" },
      h("span", { class: "hit-kind" }, getLabel(hit)),
      hit.source !== "main" && h("span", {}, "subagent"),
      hit.at && h("time", { datetime: hit.at }, `${formatDay(hit.at)}${formatTime(hit.at)}`),
    ),
    h("span", { class: "hit-text", dir: "auto" }, markMatches(hit.snippet, hit.matches)),
  );
}

/** @param {string} time */
function formatDay(time) {
  const day = formatWhen(time);
  return day === formatTime(time) ? "" : `${day}, `;
}

/** @param {any} hit */
function getLabel(hit) {
  if (hit.type === "tool_result") return `${hit.tool_name ?? ""} result`.trim();
  return TYPE_LABELS[hit.type] ?? hit.tool_name ?? hit.type;
}

/**
 * Split a text into plain and marked parts. The spans count characters, while a
 * JavaScript string counts UTF-16 units.
 *
 * @param {string} text
 * @param {[number, number][]} spans
 * @returns {(HTMLElement | string)[]}
 */
export function markMatches(text, spans) {
  const characters = [...text];
  /** @type {(HTMLElement | string)[]} */
  const parts = [];
  let position = 0;
  for (const [start, end] of spans) {
    parts.push(characters.slice(position, start).join(""));
    parts.push(h("mark", {}, characters.slice(start, end).join("")));
    position = end;
  }
  parts.push(characters.slice(position).join(""));
  return parts;
}

/** @param {string} query */
function linkTo(query) {
  return { href: `/search${toQuery({ q: query })}`, "data-query": query };
}
