"""Commands import little, so that they start fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
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
    return set(run_code(leslied, "import sys", "print(*sys.modules)", args).split())


def count_dataclasses(leslied: LesliedRunner, *args: str) -> int:
    """Run a command in a process of its own; return how many dataclasses it defined."""
    count = (
        "import dataclasses; define, count = dataclasses._process_class, []\n"
        "dataclasses._process_class = lambda *a: count.append(a) or define(*a)"
    )
    return int(run_code(leslied, count, "print(len(count))", args))


def run_code(
    leslied: LesliedRunner, before: str, after: str, args: tuple[str, ...]
) -> str:
    """Run a command between two pieces of code; return what the second one prints."""
    code = (
        f"{before}\nfrom leslied.cli import leslied\n"
        f"leslied.main({list(args)!r}, standalone_mode=False)\n"
        f"print(); {after}"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=leslied.environ,
        capture_output=True,
        check=True,
        text=True,
    )
    return result.stdout.rpartition("\n\n")[2]


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


def test_listing_titles_of_common_characters_imports_no_package_for_graphemes(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555")
    prompt = "naïve — “yes” → 日本語 ✓ " * 20
    claude.write(builder.prompt(prompt), builder.answer("Done."), name="-p/2.jsonl")
    assert leslied("sync").code == 0

    imports = list_imports(leslied, "list")

    assert imports & {"regex", "rich"} == set()


@pytest.mark.parametrize("args", [("list",), ("search", "parser"), ("stats",)])
def test_commands_that_need_no_settings_do_not_define_them(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    imports = list_imports(leslied, *args)

    assert "leslied.config" not in imports


@pytest.mark.parametrize("args", [("list",), ("search", "parser"), ("stats",)])
def test_commands_that_print_tables_import_nothing_that_renders_entries(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    imports = list_imports(leslied, *args)

    unused = {"difflib", "leslied.cli.render.record", "leslied.projects.git"}
    assert imports & unused == set()


def test_help_defines_no_dataclass(leslied: LesliedRunner):
    assert "dataclasses" not in list_imports(leslied, "--help")


@pytest.mark.parametrize(
    ("args", "limit"), [(("sync",), 22), (("list",), 4), (("stats",), 4)]
)
def test_commands_define_few_dataclasses(
    leslied: LesliedRunner, args: tuple[str, ...], limit: int
):
    count = count_dataclasses(leslied, *args)

    assert count <= limit


@pytest.mark.parametrize("command", ["show", "follow"])
def test_help_imports_no_heavy_library(leslied: LesliedRunner, command: str):
    imports = list_imports(leslied, command, "--help")

    assert imports & (HEAVY - {"shutil"}) == set()


def test_the_log_of_the_daemon_needs_no_rich():
    code = (
        "import sys; from leslied.log import make_logger\n"
        "log = make_logger(str); log.warning('here')\n"
        "print('structlog' in sys.modules, 'rich' in sys.modules)\n"
        "import rich"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )

    assert result.stdout == "True False\n"
    assert "here" in result.stderr
