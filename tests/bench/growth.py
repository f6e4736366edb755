"""Print cost curves: what operations cost in stores of 1, 10 and 100 times the size.

    python tests/bench/growth.py [--quick] [--json FILE] [AXIS …]

Each axis makes one thing grow: sessions, threads of one project, units or subagents of
a session, bytes of a log, tombstones. The cost of an operation is its CPU time and what
is counted in the process: SQL statements, steps of SQLite, bytes read and written. An
exponent of 0 means that the cost does not depend on the size, 1 that it is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied.app import App
from leslied.model.query import Selection
from leslied.paths import get_paths
from leslied.pipeline import (
    Archiver,
    AssetIndex,
    Budget,
    Flow,
    Ingest,
    RelationsSync,
    TranscriptStage,
)
from leslied.queries.search import search
from leslied.queries.search_query import parse_query
from leslied.queries.session_list import load_session_list
from leslied.queries.usage.stats import StatsQuestion, load_stats
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.clock import FakeClock
from tests.support.prune import prune_sessions
from tests.support.work import count_work

SIZES = (10, 100, 1000)
QUICK_SIZES = (10, 100)
REPEATS = 5
PROBE = "99999999-2222-4333-8444-555555555555"
"""Session whose log grows while the operations are measured."""


@dataclass(slots=True)
class Cost:
    """Median cost of one operation at one size."""

    cpu_ms: float
    statements: int
    steps: int
    read_bytes: int
    written_bytes: int


@dataclass(slots=True)
class Home:
    """A home with a store, whose size is set by an axis."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    claude: ClaudeHome = field(init=False)
    probe: ClaudeLogBuilder = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / "home"
        home.mkdir(parents=True)
        self.claude = ClaudeHome(home, self.folder / "data" / "store.db", self.clock)
        self.probe = self.make_builder(PROBE, "probe", AFTER_STORE_CREATION)
        self.write_probe()

    @property
    def log(self) -> Path:
        return self.claude.log(f"-probe/{PROBE}.jsonl")

    @property
    def app(self) -> App:
        environ = {
            "HOME": str(self.claude.home),
            "LESLIED_DATA_DIR": str(self.claude.store_path.parent),
        }
        return App(environ, get_paths(environ), self.clock)

    def make_builder(
        self, session_id: str, project: str, started_at: datetime
    ) -> ClaudeLogBuilder:
        folder = self.claude.home / project
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return ClaudeLogBuilder(session_id, str(folder), started_at)

    def write_probe(self, text: str = "handler") -> None:
        """Append one unit to the probe's log."""
        lines = [self.probe.prompt(f"do {text}"), self.probe.answer(f"did {text}")]
        self.claude.write(*lines, name=f"-probe/{PROBE}.jsonl")


def add_sessions(home: Home, count: int, project: str = "") -> list[str]:
    """Write logs of small sessions, in one project or in many."""
    ids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(count)]
    for number, session_id in enumerate(ids):
        started_at = home.clock.now().replace(tzinfo=None)
        folder = project or f"app{number % 50}"
        builder = home.make_builder(session_id, folder, started_at)
        call = f"toolu_{number}"
        home.claude.write(
            builder.prompt(f"fix handler {number}"),
            builder.call("Bash", {"command": "make handler"}, call),
            builder.result(call, "done"),
            builder.answer("The handler is fixed."),
            name=f"-app/{session_id}.jsonl",
        )
    return ids


def grow_sessions(home: Home, size: int) -> None:
    """Add sessions in up to 50 projects."""
    add_sessions(home, size)


def grow_threads(home: Home, size: int) -> None:
    """Add threads to the probe's project."""
    add_sessions(home, size, "probe")


def grow_units(home: Home, size: int) -> None:
    """Add units to the probe."""
    for number in range(size):
        home.write_probe(f"unit {number}")


def grow_subagents(home: Home, size: int) -> None:
    """Add subagents to the probe, each called in a unit of its own."""
    for number in range(size):
        call, agent_id = f"toolu_{number}", f"a{number:07x}"
        spawn = {"description": "look", "prompt": "look", "subagent_type": "Explore"}
        home.claude.write(
            home.probe.prompt(f"ask agent {number}"),
            home.probe.call("Task", spawn, call),
            home.probe.result(call, "seen", toolUseResult={"agentId": agent_id}),
            home.probe.answer("It has looked."),
            name=f"-probe/{PROBE}.jsonl",
        )
        child = home.make_builder(PROBE, "probe", AFTER_STORE_CREATION)
        child._numbers = iter(range(10**6 + 10 * number, 10**7))  # type: ignore[assignment]
        lines = [child.prompt("look"), child.answer("seen")]
        for line in lines:
            line |= {"isSidechain": True, "agentId": agent_id}
        home.claude.write(
            *lines, name=f"-probe/{PROBE}/subagents/agent-{agent_id}.jsonl"
        )


def grow_log(home: Home, size: int) -> None:
    """Add a unit of about 10 KB for each step of the size to the probe's log."""
    lines = []
    for number in range(size):
        call = f"toolu_{number}"
        lines += [
            home.probe.call("Bash", {"command": "make"}, call),
            home.probe.result(call, os.urandom(5_000).hex()),
        ]
    with home.log.open("ab") as file:
        file.write(encode_json_lines(home.probe.prompt("run it"), *lines))
    home.write_probe()


def grow_tombstones(home: Home, size: int) -> None:
    """Add sessions, and prune them."""
    ids = add_sessions(home, size)
    with open_flow(home) as (flow, _):
        flow.run(Budget())
    prune_sessions(home.claude, ids, include_transcripts=True)


AXES: dict[str, Callable[[Home, int], None]] = {
    "sessions": grow_sessions,
    "threads of a project": grow_threads,
    "units of a session": grow_units,
    "subagents of a session": grow_subagents,
    "log in 10 KB": grow_log,
    "tombstones": grow_tombstones,
}


@contextmanager
def open_flow(home: Home) -> Iterator[tuple[Flow, ExitStack]]:
    """Yield the daemon's flow, with the store open."""
    with ExitStack() as stack:
        store = stack.enter_context(home.app.open_writer())
        reader = stack.enter_context(home.app.open_reader())
        yield home.app.make_flow(store, reader, is_daemon=True), stack


def finish_backlog(flow: Flow) -> None:
    """Run the flow until no stage has work left; one run reads a slice of each log."""
    while any(report.has_more for report in flow.run(Budget()).reports):
        pass


class Probe:
    """The operations that are measured, on an open store."""

    def __init__(self, home: Home, flow: Flow, stack: ExitStack) -> None:
        self.home, self.flow = home, flow
        self.queries = stack.enter_context(home.app.open_queries())
        self.reader = flow.get_stage(TranscriptStage).reader
        self.costs: dict[str, list[Cost]] = {}

    def measure(self, name: str, work: Callable[[], object]) -> None:
        """Do the work and add its cost; the counting itself costs some CPU time."""
        read, written = read_io()
        with count_work(self.flow.store, self.reader, self.queries.reader) as counted:
            start = time.process_time()
            work()
            cpu_ms = 1000 * (time.process_time() - start)
        read_after, written_after = read_io()
        cost = Cost(
            cpu_ms,
            counted.statements,
            counted.steps,
            read_after - read,
            written_after - written,
        )
        self.costs.setdefault(name, []).append(cost)

    def run_once(self) -> None:
        """Measure each operation once."""
        home, flow = self.home, self.flow
        changed = Budget(changed_paths=[home.log])
        home.claude.write(home.probe.prompt("one"), name=f"-probe/{PROBE}.jsonl")
        self.measure("append a line", lambda: flow.run(changed))
        home.claude.write(home.probe.answer("1"), name=f"-probe/{PROBE}.jsonl")
        flow.select(Ingest).run(changed)
        home.clock.advance(5)
        quiet = Budget(changed_paths=())
        for name, stage in (
            ("settle a unit", TranscriptStage),
            ("update relations", RelationsSync),
            ("update asset index", AssetIndex),
        ):
            part = flow.select(stage)
            part.awake = {each.name for each in part.stages}
            self.measure(name, lambda part=part: part.run(quiet))
        flow.run(quiet)
        archive = flow.select(Archiver)
        archive.awake = {each.name for each in archive.stages}
        self.measure("archive the unit", lambda: archive.run(quiet))
        finish_backlog(flow)
        self.measure("scan, nothing new", lambda: flow.run(Budget()))
        self.measure("list", self._list)
        self.measure("search", self._search)
        self.measure("stats --by day", self._load_stats)

    def _list(self) -> None:
        load_session_list(self.queries, Selection(limit=20))

    def _search(self) -> None:
        search(self.queries, parse_query("handler", {}), "newest", 20)

    def _load_stats(self) -> None:
        load_stats(self.queries, StatsQuestion(by="day"))


def read_io() -> tuple[int, int]:
    """Return how many bytes this process has read and written; zeros if unknown."""
    try:
        lines = Path("/proc/self/io").read_text().split("\n")
    except OSError:
        return 0, 0
    return int(lines[0].split()[1]), int(lines[1].split()[1])


def measure_axis(name: str, size: int) -> dict[str, Cost]:
    """Return the median cost of each operation at this size."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        AXES[name](home, size)
        with open_flow(home) as (flow, stack):
            finish_backlog(flow)
            # All sessions but the probe have stopped then.
            home.clock.advance(3600)
            finish_backlog(flow)
            probe = Probe(home, flow, stack)
            for _ in range(REPEATS):
                probe.run_once()
    return {name: take_median(costs) for name, costs in probe.costs.items()}


def take_median(costs: list[Cost]) -> Cost:
    columns = zip(*(asdict(cost).values() for cost in costs), strict=True)
    return Cost(*(statistics.median_low(column) for column in columns))


def compute_exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """Return the exponent of the growth between the two largest sizes."""
    first, last = max(values[-2], 1e-9), max(values[-1], 1e-9)
    return math.log(last / first) / math.log(sizes[-1] / sizes[-2])


def print_axis(
    name: str, sizes: tuple[int, ...], curves: dict[str, list[Cost]]
) -> None:
    print(f"\n{name}: {', '.join(map(str, sizes))}")
    print(f"{'':22}{'cpu ms':>27}{'statements':>21}{'steps':>27}{'KB read':>21} exp")
    for operation, costs in curves.items():
        cpu = " ".join(f"{cost.cpu_ms:8.2f}" for cost in costs)
        statements = " ".join(f"{cost.statements:6d}" for cost in costs)
        steps = " ".join(f"{cost.steps:8d}" for cost in costs)
        read = " ".join(f"{cost.read_bytes // 1024:6d}" for cost in costs)
        exponent = compute_exponent(sizes, [cost.steps for cost in costs])
        time_exponent = compute_exponent(sizes, [cost.cpu_ms for cost in costs])
        print(
            f"{operation:22}{cpu:>27}{statements:>21}{steps:>27}{read:>21} "
            f"{exponent:.2f} {time_exponent:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("axes", nargs="*", metavar="AXIS", default=list(AXES))
    parser.add_argument("--quick", action="store_true", help="only 1 and 10 times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the costs")
    args = parser.parse_args()
    sizes = QUICK_SIZES if args.quick else SIZES
    data = {}
    for name in args.axes:
        results = [measure_axis(name, size) for size in sizes]
        curves = {each: [costs[each] for costs in results] for each in results[0]}
        print_axis(name, sizes, curves)
        data[name] = {
            each: [
                {"size": size, **asdict(cost)}
                for size, cost in zip(sizes, costs, strict=True)
            ]
            for each, costs in curves.items()
        }
    if args.json:
        args.json.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
