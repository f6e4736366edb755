/** Help on the search page before a search: examples, and the query language. */

import { toQuery } from "../../lib/api.js";
import { h } from "../../lib/dom.js";

/** @type {[query: string, about: string][]} */
const EXAMPLES = [
  ["error after:7d", "errors that somebody mentioned in the last week"],
  ["is:error tool:Bash", "commands that failed"],
  ["role:user deploy", "prompts about deploying"],
  ['"merge conflict"', "this phrase"],
  ["(timeout OR deadline) -test", "either word, without a third one"],
];

/** @type {[syntax: string, about: string][]} */
const LANGUAGE = [
  ["two words", "both, anywhere in an entry; the last word may be unfinished"],
  ['"two words"', "a phrase: one after the other"],
  ["begin*", "words that start with this"],
  ["one OR other", "either of them; parentheses make groups"],
  ["-word", "entries without this word"],
  ["agent:codex", "one agent; -agent:codex excludes it"],
  ["project:app", "one project, by name or path; also session: and thread:"],
  ["tool:Bash", "calls of a tool and their results; tool:mcp__* matches several"],
  ["role:user", "prompts; also role:assistant and role:tool"],
  ["model:opus", "models whose name contains this"],
  ["after:7d before:2026-01-31", "a time, a day or a span"],
  ["status:active", "sessions at work; also status:idle and status:stopped"],
  ["is:error is:subagent", "only errors; only subagents"],
];

/** Return the examples and the language, which are the same in a terminal. */
export function drawHelp() {
  return h(
    "div",
    { class: "search-help" },
    h(
      "section",
      {},
      h("h2", {}, "Try"),
      h("ul", { class: "search-examples" }, EXAMPLES.map(drawExample)),
    ),
    h(
      "section",
      {},
      h("h2", {}, "What you can write"),
      h("dl", { class: "search-language" }, LANGUAGE.flatMap(([syntax, about]) => [
        h("dt", {}, h("code", {}, syntax)),
        h("dd", {}, about),
      ])),
      h("p", {}, "The same words work in a terminal: ", h("code", {}, "leslied search"), "."),
    ),
  );
}

/** @param {[query: string, about: string]} example */
function drawExample([query, about]) {
  return h(
    "li",
    {},
    h("a", { href: `/search${toQuery({ q: query })}`, "data-query": query }, h("code", {}, query)),
    h("span", {}, about),
  );
}
