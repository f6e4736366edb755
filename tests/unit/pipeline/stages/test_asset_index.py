"""Test the asset index stage: threads that changed are indexed, others are not."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leslied.layout import THREADS_FOLDER
from leslied.pipeline import (
    AssetIndex,
    AssetIndexReport,
    Budget,
    TranscriptStage,
)
from leslied.pipeline.stages import thread_assets
from leslied.redact import Redactor
from leslied.sinks import OutputPolicy
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import load_golden

ID = "thread-11111111"
OTHER_SESSION = "22222222-2222-4333-8444-555555555555"
SECRET = "sk-ant-" + "a1b2c3d4" * 5


@pytest.fixture
def thread(project: Path) -> Path:
    folder = project / ".leslie" / "threads" / ID
    folder.mkdir(parents=True)
    return folder


class AssetIndexHarness:
    """Ingests a home, settles it and indexes its threads."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude
        self.is_central = False

    def __call__(self, **limits: Any) -> AssetIndexReport:
        claude = self.claude
        with (
            Store(claude.store_path, claude.clock) as store,
            StoreReader(claude.store_path) as reader,
        ):
            claude.sync(store)
            self._settle(store, reader)
            return AssetIndex(
                store=store,
                reader=reader,
                redact=Redactor(b"key").redact,
                clock=claude.clock,
                zone=UTC,
                agent_titles={"claude-code": "Claude Code"},
                is_plan_file=ADAPTER.is_plan_file,
                plan_folders=[claude.home / ".claude" / "plans"],
            ).run(Budget(**limits))

    def _settle(self, store: Store, reader: StoreReader) -> None:
        policy = OutputPolicy(
            home=self.claude.home,
            central=self.claude.store_path.parent / "central",
            user=os.getuid(),
            is_central=self.is_central,
        )
        TranscriptStage(
            store=store,
            reader=reader,
            policy=policy,
            redactor=Redactor(b"key"),
            clock=self.claude.clock,
            backfill="project",
            is_final=True,
            zone=UTC,
        ).run()

    def execute(self, query: str, *values: Any) -> None:
        with Store(self.claude.store_path, self.claude.clock) as store:
            store._db.execute(query, values)


@pytest.fixture
def indexer(claude: ClaudeHome) -> AssetIndexHarness:
    return AssetIndexHarness(claude)


def make_call_lines(
    builder: ClaudeLogBuilder,
    tool: str,
    arguments: Any,
    call_id: str,
    result: str = "ok",
) -> list[Any]:
    return [builder.call(tool, arguments, call_id), builder.result(call_id, result)]


def write_sessions(claude: ClaudeHome, project: Path, count: int) -> None:
    """Write logs of sessions, each of which has a thread of its own."""
    for number in range(count):
        builder = ClaudeLogBuilder(f"{number}{SESSION[1:]}", str(project))
        name = f"-home-dev-app/{builder.session_id}.jsonl"
        claude.write(builder.prompt("go"), builder.answer("Done."), name=name)


def read_index(thread: Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((thread / ".meta" / "assets.json").read_text())
    return index


def list_call_ids(thread: Path, number: int = 0) -> list[str]:
    return [call["call_id"] for call in read_index(thread)["assets"][number]["calls"]]


def read_output_files(project: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in (project / ".leslie").rglob("*") if path.is_file()]
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def test_a_plan_is_indexed_with_the_calls_that_wrote_it(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    arguments = {"file_path": str(thread / "plan.md")}
    claude.write(
        builder.prompt("plan it"), *make_call_lines(builder, "Write", arguments, "c1")
    )
    claude.write(
        *make_call_lines(builder, "Edit", arguments, "c2"), builder.answer("Done.")
    )
    (thread / "plan.md").write_text("# The mill\n")

    indexer()

    plan = read_index(thread)["assets"][0]
    assert (plan["type"], plan["form"], plan["title"]) == ("plan", "file", "The mill")
    first = plan["calls"][0]
    assert (first["call_id"], first["kind"], first["tool"]) == ("c1", "write", "Write")
    assert (first["session_id"], first["source"]) == (SESSION, "main")
    assert first["chat_id"].startswith("chat-")
    assert plan["history"][0]["calls"] == ["c1", "c2"]


def test_a_second_run_writes_nothing(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(builder.prompt("plan it"), builder.answer("Done."))
    (thread / "plan.md").write_text("# The mill\n")
    indexer()
    before = read_output_files(project)

    report = indexer()

    assert (report.threads, report.files_written) == (0, 0)
    assert read_output_files(project) == before


def test_indexing_everything_again_gives_the_same_bytes(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    arguments = {"file_path": str(thread / "plan.md")}
    claude.write(
        builder.prompt("plan it"), *make_call_lines(builder, "Write", arguments, "c1")
    )
    claude.write(
        *make_call_lines(builder, "TodoWrite", {"todos": [{"content": "Dam"}]}, "c2")
    )
    (thread / "plan.md").write_text("# The mill\n")
    indexer()
    before = read_output_files(project)
    for table in ("collected", "touch", "touched"):
        indexer.execute(f"DELETE FROM {table}")
    indexer.execute("INSERT INTO collected (session) SELECT id FROM session")

    report = indexer()

    assert (report.threads, report.files_written) == (1, 0)
    assert read_output_files(project) == before


def test_a_new_index_is_not_synced_but_one_that_replaces_another_is(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    synced: list[int] = []
    sync = os.fsync

    def record_sync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        sync(fd)

    monkeypatch.setattr(os, "fsync", record_sync)
    index = thread / ".meta" / "assets.json"
    claude.write(builder.prompt("plan it"), builder.answer("Done."))
    indexer()
    is_new_synced = index.stat().st_ino in synced
    (thread / "plan.md").write_text("# The mill\n")
    indexer()

    assert (is_new_synced, index.stat().st_ino in synced) == (False, True)


def test_a_new_index_that_a_power_loss_emptied_is_written_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(builder.prompt("plan it"), builder.answer("Done."))
    indexer()
    index = thread / ".meta" / "assets.json"
    data = index.read_bytes()
    index.write_bytes(b"")

    indexer()

    assert index.read_bytes() == data


def test_an_asset_edited_by_hand_is_indexed_without_a_call(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(builder.prompt("plan it"), builder.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    indexer()
    (thread / "plan.md").write_text("# Another\n")

    report = indexer()

    history = read_index(thread)["assets"][0]["history"]
    assert report.threads == 1
    assert [change["calls"] for change in history] == [[], []]
    assert history[0]["sha256"] != history[1]["sha256"]


def test_an_unchanged_file_is_not_read_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(builder.prompt("plan it"), builder.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    indexer()
    indexer.execute("UPDATE collected SET files = replace(files, 'One', 'Remembered')")
    (thread / "progress.md").write_text("# Progress\n")

    indexer()

    assert read_index(thread)["assets"][0]["title"] == "Remembered"


def test_units_that_did_not_change_are_not_read_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    arguments = {"file_path": str(thread / "plan.md")}
    (thread / "plan.md").write_text("# One\n")
    claude.write(
        builder.prompt("one"), *make_call_lines(builder, "Write", arguments, "c1")
    )
    indexer()
    indexer.execute("UPDATE touch SET call_id = 'remembered' WHERE call_id = 'c1'")
    claude.write(
        builder.prompt("two"), *make_call_lines(builder, "Edit", arguments, "c2")
    )

    indexer()

    assert list_call_ids(thread) == ["remembered", "c2"]


def test_a_call_is_read_again_when_it_changes_later(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    (thread / "plan.md").write_text("# One\n")
    call, result = make_call_lines(builder, "Write", {"file_path": "/elsewhere"}, "c1")
    claude.write(builder.prompt("one"), call, result, builder.prompt("two"))
    indexer()
    call["message"]["content"][0]["input"] = {"file_path": str(thread / "plan.md")}
    claude.write(call)

    indexer()

    assert list_call_ids(thread) == ["c1"]


def test_a_call_of_a_subagent_names_the_subagent(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    (thread / "plan.md").write_text("# One\n")
    claude.write(builder.prompt("one"), builder.answer("Done."))
    arguments = {"file_path": str(thread / "plan.md")}
    lines = [builder.prompt("sub"), *make_call_lines(builder, "Write", arguments, "c1")]
    for line in lines:
        line |= {"isSidechain": True, "agentId": "abc"}
    claude.write(*lines, name=f"-home-dev-app/{SESSION}/subagents/agent-abc.jsonl")

    indexer()

    (call,) = read_index(thread)["assets"][0]["calls"]
    assert (call["call_id"], call["source"]) == ("c1", "subagent:abc")


def test_a_plan_written_by_another_session_names_the_call_of_that_session(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(builder.prompt("one"), builder.answer("Done."))
    indexer()
    (thread / "plan.md").write_text("# One\n")
    other_builder = ClaudeLogBuilder(OTHER_SESSION, str(project))
    arguments = {"file_path": str(thread / "plan.md")}
    lines = [
        other_builder.prompt("help"),
        *make_call_lines(other_builder, "Write", arguments, "c9"),
    ]
    claude.write(*lines, name=f"-home-dev-app/{OTHER_SESSION}.jsonl")

    indexer()

    (call,) = read_index(thread)["assets"][0]["calls"]
    assert (call["session_id"], call["call_id"]) == (OTHER_SESSION, "c9")


def test_a_relative_path_is_resolved_in_the_folder_of_an_earlier_unit(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    (thread / "plan.md").write_text("# One\n")
    claude.write(builder.prompt("one"), builder.answer("Done."))
    builder.cwd = str(thread)
    claude.write(builder.prompt("two"), builder.answer("There."))
    indexer()
    claude.write(
        builder.prompt("3"),
        *make_call_lines(builder, "Bash", {"command": "ls > plan.md"}, "c"),
    )

    indexer()

    assert list_call_ids(thread) == ["c"]


def test_plans_and_task_lists_are_collected_if_the_thread_has_none(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    todos = {"todos": [{"content": f"Dam {SECRET}", "status": "in_progress"}]}
    claude.write(
        builder.prompt("go"), *make_call_lines(builder, "TodoWrite", todos, "c1")
    )
    claude.write(
        *make_call_lines(builder, "ExitPlanMode", {"plan": f"# Mill {SECRET}"}, "c2")
    )
    indexer()

    plan, progress = read_index(thread)["assets"][1:]

    assert (plan["type"], plan["collected"]) == ("plan", True)
    assert (progress["type"], progress["calls"][0]["call_id"]) == ("progress", "c1")
    written = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert written.startswith("# Mill [REDACTED:anthropic:")
    assert read_index(thread)["progress"]["open"] == 1


def test_the_threads_own_plan_replaces_the_collected_one(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(
        builder.prompt("go"),
        *make_call_lines(builder, "ExitPlanMode", {"plan": "# A"}, "c1"),
    )
    indexer()
    (thread / "plan.md").write_text("# Own\n")

    indexer()

    assert not (thread / ".meta" / "collected" / "plan.md").exists()
    titles = [a["title"] for a in read_index(thread)["assets"] if a["type"] == "plan"]
    assert titles == ["Own"]


@pytest.mark.threat("P5")
def test_a_plan_is_read_only_from_the_plan_folders_of_agents(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    home: Path,
):
    """A log may name any path."""
    private_file = home / "x" / ".claude" / "plans" / "id.md"
    private_file.parent.mkdir(parents=True)
    private_file.write_text("private")
    arguments = {"file_path": str(private_file), "content": "# Written"}
    claude.write(
        builder.prompt("go"), *make_call_lines(builder, "Write", arguments, "c1")
    )

    indexer()

    collected = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert collected == "# Written\n"


def test_an_edited_plan_of_claude_is_collected_in_its_current_form(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    home: Path,
):
    plan = home / ".claude" / "plans" / "brave-oak.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Now\n")
    arguments = {"file_path": str(plan), "content": "# Then"}
    claude.write(
        builder.prompt("go"), *make_call_lines(builder, "Write", arguments, "c1")
    )

    indexer()

    collected = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert collected == "# Now\n"


@pytest.mark.threat("S3")
def test_secrets_in_titles_and_progress_do_not_reach_the_index(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(builder.prompt(f"use {SECRET}"), builder.answer("Done."))
    (thread / "plan.md").write_text(f"# Key {SECRET}\n")
    (thread / "progress.md").write_text(f"- [ ] use {SECRET}\n")

    indexer()

    index_files = [thread / ".meta/assets.json", project / ".leslie/index.json"]
    for path in [*index_files, project / ".leslie" / "INDEX.md"]:
        assert SECRET not in path.read_text()
        assert "REDACTED" in path.read_text()


def test_a_file_name_that_is_not_utf8_is_indexed(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(builder.prompt("go"), builder.answer("Done."))
    (thread / "design").mkdir()
    (Path(os.fsdecode(os.fsencode(thread) + b"/design/\xff.md"))).write_text("x")

    report = indexer()

    assert report.errors == {}
    assert read_index(thread)["assets"][0]["files"][0]["path"].endswith("\ufffd.md")
    assert indexer().files_written == 0


@pytest.mark.threat("P6")
def test_a_link_or_pipe_in_place_of_the_index_is_replaced(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    tmp_path: Path,
):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (thread / ".meta").mkdir()
    (thread / ".meta" / "assets.json").symlink_to(victim)
    os.mkfifo(thread.parents[1] / "INDEX.md")
    claude.write(builder.prompt("go"), builder.answer("Done."))

    indexer()

    assert victim.read_text() == "mine"
    assert read_index(thread)["thread"] == ID
    assert (thread.parents[1] / "INDEX.md").read_text().startswith("<!--")


def test_a_deleted_output_folder_is_not_created_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(builder.prompt("go"), builder.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    indexer()
    subprocess.run(["rm", "-r", str(project / ".leslie")], check=True)
    indexer.execute("UPDATE collected SET is_due = 1")

    report = indexer()

    assert report.errors == {}
    assert not (project / ".leslie").exists()


def test_assets_of_a_project_without_output_are_indexed_in_the_central_tree(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    indexer.is_central = True
    arguments = {"file_path": str(thread / "plan.md")}
    claude.write(
        builder.prompt("go"), *make_call_lines(builder, "Write", arguments, "c1")
    )
    (thread / "plan.md").write_text("# One\n")

    indexer()

    (index,) = claude.store_path.parent.rglob("assets.json")
    plan, transcripts = json.loads(index.read_text())["assets"][::-1]
    assert (plan["title"], plan["calls"][0]["call_id"]) == ("One", "c1")
    assert transcripts["type"] == "transcript"
    assert sorted(p.name for p in (project / ".leslie").rglob("*")) == [
        "plan.md",
        ID,
        "threads",
    ]


@pytest.mark.usefixtures("thread")
def test_a_session_that_became_quiet_is_shown_as_stopped(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=10, minute=0, second=9)  # type: ignore[attr-defined]
    claude.write(builder.prompt("go"), builder.answer("Done."))
    indexer()
    page = project / ".leslie" / "INDEX.md"
    assert " · idle · " in page.read_text()
    claude.clock.advance(3600)  # type: ignore[attr-defined]

    report = indexer()

    assert report.threads == 1
    assert " · stopped · " in page.read_text()
    assert indexer().threads == 0


def test_a_thread_that_could_not_be_written_is_tried_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    claude.write(
        builder.prompt("go"),
        *make_call_lines(builder, "ExitPlanMode", {"plan": "# A"}, "c1"),
    )
    (thread / ".meta").mkdir()
    (thread / ".meta" / "collected").write_text("in the way")

    assert list(indexer().errors) == [SESSION]
    (thread / ".meta" / "collected").unlink()
    assert indexer().errors == {}

    assert (thread / ".meta" / "collected" / "plan.md").exists()


def test_a_crash_before_the_projects_index_leaves_it_due(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    claude.write(builder.prompt("go"), builder.answer("Done."))
    with monkeypatch.context() as patch:
        patch.setattr("leslied.sinks._thread_index.render_index", crash)
        with pytest.raises(KeyboardInterrupt):
            indexer()

    indexer()

    assert (project / ".leslie" / "index.json").exists()


def test_a_failure_in_the_projects_index_leaves_it_due(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    claude.write(builder.prompt("go"), builder.answer("Done."))
    with monkeypatch.context() as patch:
        patch.setattr("leslied.sinks._thread_index.render_index", lambda *_: 1 / 0)
        report = indexer()
    indexer()

    assert "unexpected ZeroDivisionError" in report.errors[str(project)]
    assert (project / ".leslie" / "index.json").exists()


def test_a_projects_index_that_could_not_be_written_is_tried_again(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.write(builder.prompt("go"), builder.answer("Done."))
    page = project / ".leslie" / "INDEX.md"
    page.mkdir(parents=True)
    report = indexer()
    page.rmdir()

    indexer()

    assert list(report.errors) == [str(project)]
    assert page.is_file()


def test_every_thread_is_checked_in_one_of_several_scans(
    claude: ClaudeHome, indexer: AssetIndexHarness, project: Path
):
    write_sessions(claude, project, 6)
    indexer()
    for folder in (project / ".leslie" / "threads").iterdir():
        (folder / "plan.md").write_text("# One\n")

    thread_counts = [
        indexer(max_checked_threads=1, max_checked_old_threads=2).threads
        for _ in range(5)
    ]

    assert sum(thread_counts) == 6
    assert max(thread_counts) <= 3


def test_when_new_entries_wait_one_thread_is_indexed_in_a_run(
    claude: ClaudeHome, indexer: AssetIndexHarness, project: Path
):
    write_sessions(claude, project, 3)

    reports = [indexer(should_yield=lambda: True) for _ in range(4)]

    assert [report.threads for report in reports] == [1, 1, 1, 0]
    assert [report.has_more for report in reports] == [True, True, False, False]


def test_transcripts_of_one_minute_are_listed_in_the_order_of_their_prompts(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    for prompt in ("zebra", "apple", "zebra", "mango"):
        claude.write(builder.prompt(prompt), builder.answer("Done."))

    indexer()

    index = json.loads((thread / ".meta" / "assets.json").read_text())
    (asset,) = [each for each in index["assets"] if each["type"] == "transcript"]
    names = [file["path"].rpartition("/")[2] for file in asset["files"]]
    assert len({name[:13] for name in names}) == 1
    assert [name[14:] for name in names] == [
        "zebra.txt",
        "apple.txt",
        "zebra-2.txt",
        "mango.txt",
    ]


def test_a_transcript_that_leslied_did_not_write_is_listed_by_its_last_write(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
):
    folder = thread / ".meta" / "transcripts"
    folder.mkdir(parents=True)
    (folder / "20200101-0000-foreign.txt").write_text("by Leslie")
    claude.write(builder.prompt("first"), builder.answer("Done."))

    indexer()

    index = json.loads((thread / ".meta" / "assets.json").read_text())
    names = [file["path"] for file in index["assets"][-1]["files"]]
    assert names[0].endswith("first.txt")
    assert names[1].endswith("foreign.txt")


def test_the_page_matches_its_golden_file(
    claude: ClaudeHome,
    indexer: AssetIndexHarness,
    builder: ClaudeLogBuilder,
    thread: Path,
    project: Path,
    pytestconfig: pytest.Config,
):
    arguments = {"file_path": str(thread / "plan.md")}
    claude.write(
        builder.prompt("Build | the *mill*"),
        *make_call_lines(builder, "Write", arguments, "c1"),
    )
    (thread / "plan.md").write_text("# The [mill]\n")
    (thread / "progress.md").write_text(
        "## Done\n- [x] Dam\n## Blocked\n- [ ] Roof (no slate)\n## Open\n- [ ] Wheel\n"
    )
    (thread / "learnings").mkdir()
    for number in range(26):
        other_builder = ClaudeLogBuilder(
            f"{number:08x}-2222-4333-8444-555555555555", str(project)
        )
        name = f"-home-dev-app/{other_builder.session_id}.jsonl"
        claude.write(other_builder.prompt(f"small thing {number}"), name=name)

    indexer()

    page = (project / ".leslie" / "INDEX.md").read_text()
    golden = Path(__file__).with_name("index.golden.md")
    assert page == load_golden(golden, page, pytestconfig)
    index = json.loads((project / ".leslie" / "index.json").read_text())
    assert (index["thread_count"], len(index["threads"])) == (27, 27)
    assert index["threads"][0]["id"] == ID


def test_the_keywords_of_calls_cover_every_relevant_path():
    """A call without a keyword cannot concern any thread."""
    assert thread_assets._CALL_KEYWORDS[0] in THREADS_FOLDER
    assert thread_assets._CALL_KEYWORDS == (".leslie", "plans")
