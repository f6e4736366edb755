"""Rows about the page in Chromium: how long until a person sees what they asked for.

All times end with the frame after the content is there. The same browser and the same
way of measuring serve for agentsview's page.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

from leslied.store import StoreReader
from tests.bench.claude_corpus import RARE_WORD
from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task
from tests.support.claude import ClaudeLogBuilder, encode_json_lines
from tests.support.web import launch_browser

COMMON_WORD = "handler"
APPENDS = 5
HUGE_UNIT_CALLS = 15_000
RUNS = 3
MAX_WAIT_SECONDS = 30
VIEWPORT = {"width": 1440, "height": 900}
_MEASURE = """
async () => {{
  const isThere = () => {condition};
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const start = performance.now();
  {action};
  while (!isThere()) {{
    if (performance.now() - start > {milliseconds}) throw new Error("it never came");
    await nextFrame();
  }}
  await nextFrame();
  return performance.now() - start;
}}
"""
_TYPE = """
const box = document.querySelector("{box}");
box.focus();
box.value = "{text}";
box.dispatchEvent(new Event("input", {{ bubbles: true }}))
"""
_VISIBLE_LINK = """
[...document.querySelectorAll("main a[href^='/s/']")].some((link) => {
  const { top, bottom } = link.getBoundingClientRect();
  return top >= 60 && bottom <= innerHeight;
})
"""


class Site(NamedTuple):
    """What the pages of a program call the same things."""

    item: str
    """Link to a session in the list."""
    entry: str
    """Text in an open session."""
    box: str
    """Where to search in all texts."""
    hit: str
    """A word that was found."""


LESLIED = Site(
    "main a[href^='/s/']", ".unit .prose", "main input[type=search]", "main mark"
)
AGENTSVIEW = Site(".session-item a", ".message-body", ".palette-input", ".palette mark")


class Server(NamedTuple):
    """A server that listens."""

    process: subprocess.Popen[str]
    address: str
    """Where a browser starts; leslied's is a link that works once."""


@contextmanager
def serve_leslied(
    bench: Bench, data: Path, corpus: str = "", config: Path | None = None
) -> Iterator[Server]:
    """Run `leslied web`."""
    command = [sys.executable, "-m", "leslied", "web", "--port", "0"]
    environ = bench.make_leslied_environ(data, corpus, config)
    with _run(command, environ) as process:
        lines = iter(process.stdout.readline, "") if process.stdout else iter(())
        link = next(line.strip() for line in lines if "/login?code=" in line)
        yield Server(process, link)


@contextmanager
def serve_agentsview(bench: Bench, data: Path) -> Iterator[Server]:
    """Run agentsview's server without reading logs, as `leslied web` does."""
    command = [str(bench.peers["agentsview"]), "serve", "--no-browser", "--no-sync"]
    environ = bench.make_agentsview_environ(data)
    with _run([*command, "--port=0"], environ) as process:
        lines = iter(process.stdout.readline, "") if process.stdout else iter(())
        line = next(line for line in lines if "http://" in line)
        yield Server(process, "http://" + line.partition("http://")[2].split()[0])


@contextmanager
def _run(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        command,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=MAX_WAIT_SECONDS)


@contextmanager
def open_page() -> Iterator[Page]:
    """Yield an empty page of a browser that runs."""
    with launch_browser() as browser:
        page = browser.new_page(viewport=VIEWPORT)
        page.set_default_timeout(MAX_WAIT_SECONDS * 1000)
        yield page


def measure(page: Page, action: str, condition: str) -> float:
    """Run JavaScript; return the milliseconds until a condition holds and is drawn."""
    return page.evaluate(
        _MEASURE.format(
            action=action, condition=condition, milliseconds=1000 * MAX_WAIT_SECONDS
        )
    )


def _exists(selector: str) -> str:
    return f'document.querySelector("{selector}") !== null'


def measure_list(bench: Bench) -> Sample:
    """Start the server and open the list; scroll and filter it; add its memory."""
    data = bench.get_store("leslied", "small")
    cli_mb = bench.run_leslied(data, "list", corpus="small").largest_mb
    with _open_list(LESLIED, serve_leslied(bench, data, "small")) as opened:
        page, server, first_seconds = opened
        page.wait_for_load_state("networkidle")
        scroll = "scrollTo(0, document.documentElement.scrollHeight / 2)"
        scroll_ms = measure(page, scroll, _VISIBLE_LINK)
        is_filtered = (
            f'document.querySelector("{LESLIED.item}")'
            f'?.innerText.toLowerCase().includes("{RARE_WORD}")'
        )
        type_word = _TYPE.format(box=LESLIED.box, text=RARE_WORD)
        filter_ms = measure(page, type_word, is_filtered)
        page.click(LESLIED.item)
        measure(page, "", _exists(LESLIED.entry))
        memory_mb = _read_rss_mb(server.process.pid) - cli_mb
    return {
        "first": first_seconds,
        "scroll": scroll_ms,
        "filter": filter_ms,
        "memory": memory_mb,
    }


def measure_reading(bench: Bench) -> Sample:
    """Open the list, the newest and the longest session, and search."""
    data = bench.get_store("leslied", "1gb")
    with StoreReader(data / "leslied/store.db") as reader:
        longest = max(reader.list_sessions(), key=lambda session: session.tool_calls)
    with _open_list(LESLIED, serve_leslied(bench, data, "1gb")) as opened:
        page, server, first_seconds = opened
        sample = {"first": first_seconds, "open": _measure_opening(page, LESLIED)}
        page.go_back()
        measure(page, "", _exists(LESLIED.item))
        open_longest = (
            'const link = document.createElement("a");'
            f'link.href = "/s/{longest.key.session_id}";'
            "document.body.append(link); link.click(); link.remove()"
        )
        sample["open longest"] = measure(page, open_longest, _exists(LESLIED.entry))
        page.goto(server.address.partition("/login")[0] + "/search")
        page.wait_for_selector(LESLIED.box)
        return sample | _measure_searches(page, LESLIED)


def measure_agentsview_reading(bench: Bench) -> Sample:
    """Open the list and the newest session, and search in the palette."""
    data = bench.get_store("agentsview", "1gb")
    with _open_list(AGENTSVIEW, serve_agentsview(bench, data)) as opened:
        page, _, first_seconds = opened
        sample = {"first": first_seconds, "open": _measure_opening(page, AGENTSVIEW)}
        page.keyboard.press("Control+k")
        page.wait_for_selector(AGENTSVIEW.box)
        return sample | _measure_searches(page, AGENTSVIEW)


@contextmanager
def _open_list(
    site: Site, serve: AbstractContextManager[Server]
) -> Iterator[tuple[Page, Server, float]]:
    """Start a server and open its list; yield also the seconds that it took."""
    with open_page() as page:
        start = time.perf_counter()
        with serve as server:
            page.goto(server.address, wait_until="commit")
            page.wait_for_selector(site.item)
            measure(page, "", _exists(site.item))
            yield page, server, time.perf_counter() - start


def _measure_opening(page: Page, site: Site) -> float:
    """Click the first session in the list."""
    page.wait_for_timeout(500)  # The page is at rest when a person clicks.
    click = f'document.querySelector("{site.item}").click()'
    return measure(page, click, _exists(site.entry))


def _measure_searches(page: Page, site: Site) -> dict[str, float]:
    """Type words, each after the last one and its results are gone."""
    sample = {}
    for name, word in (("rare", RARE_WORD), ("common", COMMON_WORD)):
        has_hit = (
            f'[...document.querySelectorAll("{site.hit}")]'
            f'.some((hit) => hit.innerText.toLowerCase() === "{word}")'
        )
        # The letter before makes sure that the index and the page are warm.
        measure(page, _TYPE.format(box=site.box, text=word[:-1]), "true")
        page.wait_for_timeout(1500)
        measure(page, _TYPE.format(box=site.box, text=""), f"!({has_hit})")
        sample[name] = measure(page, _TYPE.format(box=site.box, text=word), has_hit)
    return sample


def measure_live(bench: Bench) -> Sample:
    """Append entries to a session that is open in the browser."""
    with bench.scratch() as data:
        builder = ClaudeLogBuilder()
        log = data / "projects/-home-dev-app" / f"{builder.session_id}.jsonl"
        log.parent.mkdir(parents=True)
        log.write_bytes(encode_json_lines(builder.prompt("Write a long story.")))
        bench.run_leslied(data, "sync", config=data)
        environ = bench.make_leslied_environ(data, config=data)
        command = [sys.executable, "-m", "leslied", "run"]
        with (
            open_page() as page,
            _run(command, environ),
            serve_leslied(bench, data, config=data) as server,
        ):
            page.goto(f"{server.address}&to=/s/{builder.session_id}")
            page.wait_for_selector(".live-state[data-state=live]")
            durations_ms = [
                _append(page, log, builder, f"chapter {number}")
                for number in range(APPENDS)
            ]
    return {"live": sorted(durations_ms)[APPENDS // 2], "worst": max(durations_ms)}


def measure_huge_unit(bench: Bench) -> Sample:
    """Open a session in which one prompt was followed by 30,000 entries."""
    with bench.scratch() as data:
        builder = ClaudeLogBuilder()
        log = data / "projects/-home-dev-app" / f"{builder.session_id}.jsonl"
        log.parent.mkdir(parents=True)
        with log.open("wb") as file:
            prompt = builder.prompt("Work until it is done.")
            file.write(encode_json_lines(prompt, builder.answer("I begin.")))
            for number in range(HUGE_UNIT_CALLS):
                call = builder.call("Bash", {"command": f"echo {number}"}, f"c{number}")
                result = builder.result(f"c{number}", f"output {number}")
                file.write(encode_json_lines(call, result))
        bench.run_leslied(data, "sync", config=data)
        with _open_list(LESLIED, serve_leslied(bench, data, config=data)) as opened:
            return {"open huge": _measure_opening(opened[0], LESLIED)}


def _append(page: Page, log: Path, builder: ClaudeLogBuilder, text: str) -> float:
    """Append an answer; return the milliseconds until it is on the screen."""
    line = encode_json_lines(builder.answer(text, stop_reason="tool_use"))
    page.wait_for_timeout(300)
    start = time.perf_counter()
    with log.open("ab") as file:
        file.write(line)
    measure(page, "", f'document.querySelector("main").innerText.includes("{text}")')
    return 1000 * (time.perf_counter() - start)


def _read_rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


def make_task(name: str, corpus: str, *measures: Callable[[Bench], Sample]) -> Task:
    """Make a task of leslied, and of agentsview if there is a second function."""
    programs = zip(("leslied", "agentsview"), measures, strict=False)
    return Task(
        name,
        tuple(Program(program, function, RUNS) for program, function in programs),
        (corpus,) if corpus else (),
        is_quick=False,
    )


_LIST = make_task("page list", "small", measure_list)
_READING = make_task("page reading", "1gb", measure_reading, measure_agentsview_reading)
_HUGE_UNIT = make_task("page huge unit", "", measure_huge_unit)
_LIVE = make_task("page live", "", measure_live)
_SECTION = "Page"
ROWS = [
    Row(
        _SECTION,
        "page: `leslied web` to first list, 20,000 logs",
        _LIST,
        "first",
        "s",
        goal=Goal(limit=1),
    ),
    # agentsview needs minutes to read 20,000 logs, so the lists of 1 GB are compared.
    Row(
        _SECTION,
        "page: start of the server to first list, 1 GB",
        _READING,
        "first",
        "s",
        "agentsview",
    ),
    Row(_SECTION, "page: scroll the list", _LIST, "scroll", "ms", goal=Goal(limit=100)),
    Row(_SECTION, "page: filter the list", _LIST, "filter", "ms", goal=Goal(limit=100)),
    Row(
        _SECTION,
        "page: RSS of the server above `leslied list`",
        _LIST,
        "memory",
        "MB",
        goal=Goal(limit=60),
    ),
    *(
        Row(
            _SECTION,
            f"page: {label}",
            _READING,
            figure,
            "ms",
            peer,
            goal=Goal(limit=limit),
        )
        for figure, label, limit, peer in (
            ("open", "open a session, to its first unit", 300, "agentsview"),
            ("open longest", "open the longest session of 1 GB", 300, ""),
            ("rare", "keystroke to results in 1 GB, rare word", 150, "agentsview"),
            ("common", "keystroke to results in 1 GB, common word", 150, "agentsview"),
        )
    ),
    Row(
        _SECTION,
        "page: open a session with 30,000 entries after one prompt",
        _HUGE_UNIT,
        "open huge",
        "ms",
        goal=Goal(limit=300),
    ),
    Row(
        _SECTION,
        "page: entry on the screen after it is appended",
        _LIVE,
        "live",
        "ms",
        goal=Goal(limit=500),
    ),
]
