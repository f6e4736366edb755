"""Rows about commands that read the store: search, stats, and their start-up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from leslied.queries.search import search_entries
from leslied.queries.search_query import parse_query
from leslied.store import StoreReader
from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task

RARE_HITS = 3
SEARCHES = {
    "rare": ("quokkaphylax", "newest", 5),
    "common": ("handler", "newest", 60),
    "rank": ("handler tool:Bash", "rank", 100),
}
"""Query, order, and the goal in milliseconds."""
COMMANDS = {
    "--help": 60,
    "list": 120,
    "status": 200,
    "stats": 200,
    "sync": 200,
}
"""Commands that are timed with their start-up, and the goals in milliseconds."""
SEARCHES_PER_RUN = 7


def measure_searches(bench: Bench) -> Sample:
    """Time searches in this process, warm and without start-up."""
    data = bench.get_store("leslied", "1gb")
    sample: dict[str, float] = {}
    with StoreReader(data / "leslied/store.db") as reader:
        for name, (query, mode, _) in SEARCHES.items():
            parsed, durations_ms = parse_query(query, {}), []
            for _ in range(SEARCHES_PER_RUN):
                start = time.perf_counter()
                result = search_entries(
                    reader, parsed, mode, 20, stop_cutoff_us=0, redact=str
                )
                durations_ms.append(1000 * (time.perf_counter() - start))
            sample[name] = statistics.median(durations_ms)
            assert name != "rare" or len(result.hits) == RARE_HITS, result.hits
    return sample


def measure_leslied_search(bench: Bench) -> Sample:
    """Time `leslied search` with its start-up."""
    data = bench.get_store("leslied", "1gb")
    sample: dict[str, float] = {}
    for name, (query, _, _) in list(SEARCHES.items())[:2]:
        sample |= _to_ms(bench.run_leslied(data, "search", query).to_sample(name))
    return sample


def measure_agentsview_search(bench: Bench) -> Sample:
    """Time a full-text search of messages, a part of what leslied searches."""
    data = bench.get_store("agentsview", "1gb")
    options = ("--fts", "--include-children", "--limit=20")
    sample: dict[str, float] = {}
    with bench.serve_agentsview(data, "--no-sync"):
        for name, (query, _, _) in list(SEARCHES.items())[:2]:
            cost = bench.run_agentsview(data, "session", "search", query, *options)
            assert name != "rare" or cost.output.count(query.encode()) == RARE_HITS
            sample |= _to_ms(cost.to_sample(name))
    return sample


def measure_stats(bench: Bench) -> Sample:
    data = bench.get_store("leslied", "1gb")
    cost = bench.run_leslied(data, "stats", "--by", "day", "--json")
    return cost.to_sample("stats")


def measure_ccusage(bench: Bench) -> Sample:
    """Time ccusage, which has no store and reads all logs each time."""
    config = str(bench.get_corpus("1gb"))
    with bench.scratch() as home:
        args = ("daily", "--json", "--offline")
        cost = bench.run_peer("ccusage", home, *args, CLAUDE_CONFIG_DIR=config)
    return cost.to_sample("stats")


def measure_command(*args: str) -> Callable[[Bench], Sample]:
    def measure(bench: Bench) -> Sample:
        data = bench.get_store("leslied", "small")
        cost = bench.run_leslied(data, *args, corpus="small")
        return _to_ms(cost.to_sample("command"))

    return measure


def _to_ms(sample: Sample) -> dict[str, float]:
    """Return a sample whose wall-clock time is in milliseconds."""
    return {
        name: value if name.endswith((" cpu", " rss")) else 1000 * value
        for name, value in sample.items()
    }


_IN_PROCESS = Task("searches", (Program("leslied", measure_searches),), ("1gb",))
_SEARCH = Task(
    "search commands",
    (
        Program("leslied", measure_leslied_search),
        Program("agentsview", measure_agentsview_search),
    ),
    ("1gb",),
    is_quick=False,
)
_STATS = Task(
    "stats",
    (Program("leslied", measure_stats), Program("ccusage", measure_ccusage)),
    ("1gb",),
)
_SECTION = "Questions"
ROWS = [
    *(
        Row(
            _SECTION,
            f"search in 1 GB, in a process: {label}",
            _IN_PROCESS,
            name,
            "ms",
            goal=Goal(limit=SEARCHES[name][2]),
        )
        for name, label in (
            ("rare", "rare word"),
            ("common", "common word"),
            ("rank", "common word, `--rank`, filter"),
        )
    ),
    *(
        Row(
            _SECTION,
            f"`leslied search` in 1 GB: {name} word",
            _SEARCH,
            name,
            "ms",
            "agentsview",
        )
        for name in ("rare", "common")
    ),
    Row(
        _SECTION,
        "`leslied stats --by day` on 1 GB",
        _STATS,
        "stats",
        "s",
        "ccusage",
        goal=Goal(factor=0.3),
    ),
    *(
        Row(
            _SECTION,
            f"`leslied {command}` with 20,000 logs",
            Task(
                f"command {command}",
                (Program("leslied", measure_command(command), 11),),
                ("small",),
            ),
            "command",
            "ms",
            goal=Goal(limit=limit),
        )
        for command, limit in COMMANDS.items()
    ),
]
