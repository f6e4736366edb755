"""Commands import little, so that they start fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        sys.platform != "linux", reason="elsewhere, platformdirs is imported"
    ),
]

HEAVY = {
    "asyncio",
    "platformdirs",
    "pydantic",
    "pygments",
    "rich",
    "shutil",
    "ssl",
    "structlog",
    "tomllib",
    "watchdog",
    "zstandard",
}
"""Libraries that take milliseconds to import."""
WORK = {
    "leslied.agents.claude_code.decode",
    "leslied.agents.codex.decode",
    "leslied.archive.writer",
    "leslied.pipeline.ingest.decode",
    "leslied.pipeline.ingest.prefetch",
    "leslied.pipeline.maintenance.rebuild",
    "leslied.pipeline.stages.thread_assets",
    "leslied.queries.sessions",
    "leslied.redact.find",
    "leslied.sessions.assemble",
    "leslied.sinks.leslie.shape",
    "leslied.store.read.search",
    "leslied.store.write.transaction",
    "leslied.tail.append",
}
"""Modules that only new entries and units need."""


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Write and sync the sample session, and write its transcripts."""
    write_sample_session(claude)
    command = LesliedRunner(home)
    assert command("sync", "--stop-all").code == 0
    return command


def list_imports(leslied: LesliedRunner, *args: str) -> set[str]:
    """Run a command in a process of its own; return the modules it imported."""
    code = (
        "import sys; from leslied.cli import leslied\n"
        f"leslied.main({list(args)!r}, standalone_mode=False)\n"
        "print(); print(*sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=leslied.environ,
        capture_output=True,
        check=True,
        text=True,
    )
    return set(result.stdout.rpartition("\n\n")[2].split())


def test_a_sync_without_changes_imports_nothing_that_does_work(
    leslied: LesliedRunner,
):
    imports = list_imports(leslied, "sync")

    assert imports & (HEAVY | WORK) == set()
    assert "leslied.pipeline.flow" in imports


@pytest.mark.parametrize("args", [("status",), ("stats", "--json"), ("list",)])
def test_commands_that_read_import_no_heavy_library(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    imports = list_imports(leslied, *args)

    assert imports & (HEAVY - {"shutil"}) == set()
    assert not any(name.startswith("leslied.pipeline.stages") for name in imports)


@pytest.mark.parametrize("command", ["show", "follow"])
def test_help_imports_no_heavy_library(leslied: LesliedRunner, command: str):
    imports = list_imports(leslied, command, "--help")

    assert imports & (HEAVY - {"shutil"}) == set()
