"""The small sessions around the main ones: ten weeks of three projects."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.support.showcase.logs import HAIKU, OPUS, SONNET, ClaudeSession, CodexSession


class Task(NamedTuple):
    """A session: what was asked, done and answered."""

    days: int
    """Days before today."""
    hour: float
    project: str
    model: str
    """The model, or "codex"."""
    prompt: str
    command: str
    output: str
    path: str
    old: str
    new: str
    answer: str
    rounds: int = 1
    """How often it is tried; all but the last time fail."""


TASKS = [
    Task(
        0, 8.2, "tideline", "codex",
        "Add the Elbe stations from the new data set",
        "tideline import elbe.csv", "23 stations imported, 2 skipped: no datum",
        "tideline/stations.py", 'SOURCES = ["bsh"]', 'SOURCES = ["bsh", "elbe"]',
        "23 stations are imported. Two have no datum: see `skipped.csv`.",
    ),
    Task(
        0, 9.1, "press", HAIKU,
        "Fix the typos in the November newsletter",
        "codespell content/2026-11.md", "content/2026-11.md:14: teh ==> the",
        "content/2026-11.md", "teh tides", "the tides", "One typo, fixed.",
    ),
    Task(
        1, 10.5, "atlas-web", SONNET,
        "The legend overlaps the scale on narrow screens",
        "npx playwright test legend", "1 failed: legend.spec.ts:22",
        "src/legend.css", ".legend { bottom: 1rem; }",
        ".legend { bottom: calc(1rem + var(--scale-height)); }",
        "The legend now stays above the scale, also at 320 px.", 2,
    ),
    Task(
        1, 14.0, "tideline", SONNET,
        "Why does the import of 400 stations take nine minutes?",
        "python -m cProfile -s tottime import.py",
        "41,200,118 function calls in 538.1 seconds",
        "tideline/importer.py", "for row in rows:\n    store.insert(row)",
        "store.insert_many(rows)",
        "Each row was its own transaction. In one, it takes **eleven seconds**.",
        3,
    ),
    Task(
        1, 16.3, "ledger", "codex",
        "Reject transactions whose postings do not add up to zero",
        "cargo test balance", "test result: ok. 31 passed; 0 failed",
        "src/balance.rs", "Ok(txn)", "if sum.is_zero() { Ok(txn) } else { Err(sum) }",
        "`ledger check` now names the transaction and the difference.",
    ),
    Task(
        2, 9.4, "tideline", OPUS,
        "Review the forecast module before the release",
        "ruff check tideline", "All checks passed!",
        "tideline/forecast.py", "except Exception:", "except StationUnavailable:",
        "Two findings: an exception that hides errors, and a cache without a limit.", 2,
    ),
    Task(
        2, 11.7, "atlas-web", SONNET,
        "Show depth contours above zoom level 12",
        "npm run build", "built in 4.12s",
        "src/layers.ts", "minzoom: 14", "minzoom: 12",
        "Contours appear at level 12, with labels from level 13 on.",
    ),
    Task(
        2, 15.2, "press", HAIKU,
        "Turn the release notes into a blog post",
        "hugo --minify", "Total in 84 ms",
        "content/posts/tideline-2.md", "draft: true", "draft: false",
        "The post is in `content/posts/tideline-2.md`.",
    ),
    Task(
        3, 10.1, "ledger", SONNET,
        "Import bank statements in CAMT.053",
        "cargo test camt", "error[E0308]: mismatched types",
        "src/import/camt.rs", "let amount: f64", "let amount: Decimal",
        "Statements of three banks are read; amounts are decimals throughout.", 3,
    ),
    Task(
        3, 17.5, "tideline", "codex",
        "Write the OpenAPI description from the routes",
        "tideline openapi > openapi.json", "",
        "tideline/api.py", "app = FastAPI()", 'app = FastAPI(title="tideline")',
        "All 14 routes are described; two had no response model.",
    ),
    Task(
        4, 13.0, "atlas-web", SONNET,
        "Upgrade to the new map renderer",
        "npm install maplibre-gl@6", "added 3 packages, changed 11 packages",
        "src/map.ts", "new Map({", "await createMap({",
        "Two breaking changes: the constructor is asynchronous, and sprites moved.", 4,
    ),
    Task(
        7, 10.8, "tideline", OPUS,
        "Design storm surge warnings",
        "tideline surge --replay 2013-12-05", "max 3.98 m at 06:20",
        "docs/surge.md", "TODO", "Warn at 1.5 m above the predicted tide.",
        "The replay of the 2013 surge would have warned nine hours ahead.", 2,
    ),
    Task(
        8, 9.0, "ledger", "codex",
        "Speed up the balance report",
        "hyperfine 'ledger balance'", "Time (mean ± σ): 1.912 s ± 0.031 s",
        "src/report.rs", "accounts.clone()", "&accounts",
        "From 1.9 s to 0.2 s: the account tree was copied for every row.", 2,
    ),
    Task(
        9, 14.6, "press", HAIKU,
        "Check all links",
        "lychee content", "214 total, 3 errors",
        "content/about.md", "http://", "https://", "Three dead links are replaced.",
    ),
    Task(
        11, 11.2, "atlas-web", SONNET,
        "Measure distances on the chart",
        "npm test", "Tests: 2 failed, 118 passed",
        "src/measure.ts", "return planar(a, b)", "return greatCircle(a, b)",
        "Distances follow the great circle and are shown in nautical miles.", 3,
    ),
]  # fmt: skip
_OLDER_DAYS = (
    14,
    15,
    16,
    18,
    21,
    22,
    24,
    28,
    29,
    31,
    32,
    35,
    38,
    42,
    43,
    45,
    50,
    56,
    58,
    63,
)


def write_history(home: Path, today: datetime) -> None:
    """Write all small sessions; older weeks repeat some tasks."""
    for number, task in enumerate(_list_tasks()):
        started_at = today - timedelta(days=task.days) + timedelta(hours=task.hour)
        name = f"history-{number}"
        if task.model == "codex":
            _write_codex(CodexSession(home, name, task.project, started_at), task)
        else:
            session = ClaudeSession(home, name, task.project, started_at, task.model)
            _write_claude(session, task)


def _list_tasks() -> list[Task]:
    older = [
        TASKS[(7 * n) % len(TASKS)]._replace(days=day, hour=9 + (day * 5 % 18) / 2)
        for n, day in enumerate(_OLDER_DAYS)
    ]
    return [*TASKS, *older]


def _write_claude(session: ClaudeSession, task: Task) -> None:
    session.prompt(task.prompt)
    for left in range(task.rounds - 1, -1, -1):
        session.call("Read", {"file_path": str(session.cwd / task.path)}, task.old * 40)
        session.edit(task.path, task.old, task.new)
        session.bash(task.command, task.output, 20 * task.rounds, fails=left > 0)
    session.answer(task.answer)


def _write_codex(session: CodexSession, task: Task) -> None:
    session.prompt(task.prompt)
    for left in range(task.rounds - 1, -1, -1):
        session.bash(task.command, task.output, 40, fails=left > 0)
        session.patch(task.path, task.old, task.new)
    session.answer(task.answer)
