"""Style sheet of the HTML page; it loads no scripts, fonts or images."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1f2328, #e6e8eb);
  --paper: light-dark(#ffffff, #14171a); --soft: light-dark(#59636e, #9aa4af);
  --line: light-dark(#d8dee4, #333a42); --card: light-dark(#f6f8fa, #1c2126);
  --user: light-dark(#e8f1fd, #16283f); --mark: light-dark(#0a5fc2, #6cb0ff);
  --bad: light-dark(#b3261e, #ff8a80); --add: light-dark(#dafbe1, #12331d);
  --gone: light-dark(#ffebe9, #43191a); }
:root:has(#light:checked) { color-scheme: light; }
:root:has(#dark:checked) { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 54rem; margin: 0 auto; padding: 1.5rem 1rem 5rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .75rem; }
h2 { font-size: 1.05rem; margin: 2.5rem 0 .25rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h2 a { color: inherit; text-decoration: none; }
a { color: var(--mark); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem;
  margin: 0; font-size: .875rem; }
dt, .facts, time, nav ol { color: var(--soft); }
dd { margin: 0; }
.facts, time { font-size: .8125rem; }
.tools { display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .8125rem;
  position: sticky; top: 0; z-index: 1; padding: .5rem 1rem; background: var(--paper);
  border-bottom: 1px solid var(--line); justify-content: center; }
.tools label { cursor: pointer; }
nav { margin-top: 1rem; font-size: .9375rem; }
section { scroll-margin-top: 3rem; }
article { margin: 1rem 0; }
article > header { font-size: .8125rem; font-weight: 600; display: flex; gap: .75rem; }
article > header time { font-weight: 400; }
.user > div { background: var(--user); border-radius: .5rem; padding: .6rem .9rem; }
.error > header { color: var(--bad); }
.event { color: var(--soft); font-size: .875rem; font-style: italic; }
.text > :first-child { margin-top: .25rem; }
.text > :last-child { margin-bottom: 0; }
.plain { white-space: pre-wrap; }
.align-right { text-align: right; }
.align-center { text-align: center; }
.text table { border-collapse: collapse; display: block; overflow-x: auto; }
.text th, .text td { border: 1px solid var(--line); padding: .25rem .5rem; }
.text blockquote { margin-inline: 0; padding-left: 1rem; color: var(--soft);
  border-left: 3px solid var(--line); }
.text h1, .text h2, .text h3, .text h4 { font-size: 1rem; border: 0; padding: 0;
  margin: 1rem 0 .25rem; }
pre, code { font: .8125rem/1.45 ui-monospace, monospace; }
code { background: var(--card); padding: .1em .3em; border-radius: .25rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .375rem;
  padding: .6rem .75rem; margin: .4rem 0; overflow-x: auto; white-space: pre-wrap; }
pre code { background: none; padding: 0; font-size: inherit; }
details { margin: .35rem 0; border-left: 2px solid var(--line); padding-left: .75rem; }
details.bad { border-color: var(--bad); }
details.subagent { border-color: var(--mark); }
summary { cursor: pointer; font-size: .875rem; color: var(--soft); }
summary b { color: var(--ink); }
summary code { background: none; padding: 0; }
ins, del { text-decoration: none; display: block; }
ins { background: var(--add); }
del { background: var(--gone); }
:root:has(#thoughts:not(:checked)) .thinking { display: none; }
:root:has(#open:checked) details::details-content { content-visibility: visible; }
@media print { .tools { display: none; } main { max-width: none; }
  details::details-content { content-visibility: visible; } }
"""
