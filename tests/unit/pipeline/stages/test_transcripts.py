"""Test the transcripts stage: finished units that changed are written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from leslied.model.record import SessionKey
from leslied.pipeline import FULL_BUDGET, Budget, SettleReport, TranscriptStage
from leslied.pipeline.stages import unit_entries
from leslied.pipeline.stages.transcript_writer import TranscriptWriter
from leslied.redact import Redactor
from leslied.sinks import OutputPolicy
from leslied.sinks.leslie import (
    CutBlock,
    ResultBlock,
    SubagentBlock,
    UserBlock,
    parse_document,
)
from leslied.store import Store, StoreReader
from leslied.tail import ReadLimits
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.clock import FakeClock

META_FOLDER = ".leslie/threads/thread-11111111/.meta"


class SettleHarness:
    """Ingests a home and settles it."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude

    def __call__(
        self, budget: Budget = FULL_BUDGET, *, is_final: bool = True, **options: Any
    ) -> SettleReport:
        claude = self.claude
        with Store(claude.store_path, claude.clock) as store:
            claude.sync(store)
            with StoreReader(claude.store_path) as reader:
                policy = OutputPolicy(
                    home=claude.home,
                    central=claude.store_path.parent / "central",
                    user=os.getuid(),
                )
                stage = TranscriptStage(
                    store=store,
                    reader=reader,
                    policy=options.pop("policy", policy),
                    redactor=Redactor(b"key"),
                    clock=claude.clock,
                    backfill=options.pop("backfill", "project"),
                    is_final=is_final,
                    **{"zone": UTC, **options},
                )
                return stage.run(budget)


@pytest.fixture
def settle(claude: ClaudeHome) -> SettleHarness:
    return SettleHarness(claude)


def list_transcripts(project: Path, subfolder: str = "transcripts") -> list[str]:
    return sorted(
        path.name for path in (project / META_FOLDER / subfolder).glob("*.txt")
    )


def read_transcript(project: Path, number: int = 0, subfolder: str = "transcripts"):
    folder = project / META_FOLDER / subfolder
    return parse_document(
        (folder / list_transcripts(project, subfolder)[number]).read_text()
    )


@pytest.fixture
def settled_transcript(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
) -> bytes:
    """Return the transcript of a settled unit."""
    claude.write(builder.prompt("go"), builder.answer("Done."))
    settle()
    return read_bytes(project)


def read_bytes(project: Path, number: int = 0) -> bytes:
    folder = project / META_FOLDER / "transcripts"
    return (folder / list_transcripts(project)[number]).read_bytes()


def test_lines_between_turns_do_not_rewrite_a_settled_transcript(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    settled_transcript: bytes,
):
    rename = "<command-name>/rename</command-name>"
    claude.write(
        builder.line("permission-mode", permissionMode="plan"),
        builder.line("system", subtype="local_command", content=rename),
        builder.line("queue-operation", operation="enqueue", content="next"),
    )

    report = settle()

    assert report.files_written == 0
    assert read_bytes(project) == settled_transcript


def test_a_notification_turn_rewrites_a_settled_transcript(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    settled_transcript: bytes,
):
    notification = "<task-notification>done</task-notification>"
    claude.write(builder.prompt(notification), builder.answer("It has finished."))

    report = settle()

    assert report.files_written == 1
    assert b"It has finished." in read_bytes(project)
    assert b"It has finished." not in settled_transcript


def test_a_unit_becomes_a_transcript_in_its_project(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("fix the login bug"), builder.answer("Done."))

    report = settle()

    assert report.files_written == 1
    assert list_transcripts(project) == ["20261116-1000-fix-the-login-bug.txt"]
    document = read_transcript(project)
    assert document.thread_id == "thread-11111111"
    assert document.blocks[0] == UserBlock("fix the login bug")


def test_settling_twice_writes_nothing(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), builder.answer("1"), builder.prompt("two"))
    settle()

    assert settle().files_written == 0


def test_more_entries_rewrite_the_same_file(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    settle()
    claude.write(builder.answer("and more"))

    report = settle()

    assert (report.files_written, len(list_transcripts(project))) == (1, 1)
    assert (
        "and more"
        in (
            project / META_FOLDER / "transcripts" / list_transcripts(project)[0]
        ).read_text()
    )


@pytest.mark.fault("D8")
def test_a_program_that_reads_a_transcript_sees_one_version_of_it(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    settled_transcript: bytes,
):
    folder = project / META_FOLDER / "transcripts"
    with (folder / list_transcripts(project)[0]).open("rb") as file:
        claude.write(builder.answer("and more"))
        settle()
        text_of_reader = file.read()

    assert text_of_reader == settled_transcript
    assert b"and more" in read_bytes(project)


def test_a_unit_is_rendered_again_once_when_the_user_takes_it_back(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"), one := builder.answer("1"))
    claude.write(builder.prompt("two"), two := builder.answer("2"))
    settle()
    names = list_transcripts(project)
    three = builder.prompt("three", parentUuid=one["uuid"], version="2.1.197")
    claude.write(three, builder.answer("3"))

    report = settle()

    assert (report.files_written, settle().files_written) == (2, 0)
    assert set(names) < set(list_transcripts(project))
    documents = [read_transcript(project, number) for number in range(3)]
    assert {d.blocks[0].text: d.is_rewound for d in documents} == {
        "one": False,
        "two": True,
        "three": False,
    }
    four = builder.prompt("four", parentUuid=two["uuid"], version="2.1.197")
    claude.write(four)
    assert settle().files_written == 3


def test_a_unit_is_rendered_again_when_an_entry_changes(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("first"), answer := builder.answer("draft"))
    claude.write(builder.prompt("second"), builder.answer("done"))
    settle()
    answer["message"]["content"][0]["text"] = "final"
    claude.write(answer)

    report = settle()

    assert report.units == 1
    first, _ = sorted(claude.home.rglob("*.txt"))
    assert "final" in first.read_text()
    assert settle().units == 0


def test_only_units_with_new_entries_are_read_again(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder
):
    for number in range(5):
        claude.write(builder.prompt(f"do {number}"), builder.answer("ok"))
    settle()
    claude.write(builder.prompt("one more"), builder.answer("ok"))

    assert settle().units == 1


@pytest.mark.fault("D9")
def test_two_units_with_the_same_prompt_get_two_files(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("go on"), builder.answer("1"), builder.prompt("go on"))

    settle()

    assert list_transcripts(project) == [
        "20261116-1000-go-on-2.txt",
        "20261116-1000-go-on.txt",
    ]


@pytest.mark.fault("D9")
@pytest.mark.threat("P6", "X7")
def test_a_file_that_is_not_ours_is_never_changed(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("mine"), builder.answer("1"))
    foreign = project / META_FOLDER / "transcripts" / "20261116-1000-mine.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("somebody's own")

    settle()

    assert foreign.read_text() == "somebody's own"
    assert "20261116-1000-mine-2.txt" in list_transcripts(project)


def test_a_subagent_gets_a_file_that_its_tool_call_links_to(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(
        builder.prompt("delegate"),
        builder.call("Agent", {"prompt": "count"}, "toolu_1"),
        builder.result("toolu_1", "ok", toolUseResult={"agentId": "a1"}),
    )
    child = ClaudeLogBuilder(cwd=str(project))
    claude.write(
        child.prompt("count the files", isSidechain=True),
        child.answer("three"),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )

    settle()

    (name,) = list_transcripts(project, "subagents")
    assert SubagentBlock("a1", name) in read_transcript(project).blocks
    subagent = read_transcript(project, subfolder="subagents")
    assert subagent.source == "subagent:a1"
    assert subagent.parent_chat_id == read_transcript(project).chat_id


def write_unlinked_subagent(claude: ClaudeHome, project: Path) -> None:
    child = ClaudeLogBuilder(cwd=str(project))
    claude.write(
        child.prompt("count the files", isSidechain=True),
        child.answer("three"),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )


OPENINGS = {
    "a compaction summary": lambda builder: encode_json_lines(
        builder.prompt("Summary: …", isCompactSummary=True)
    ),
    "a task notification": lambda builder: encode_json_lines(
        builder.prompt(
            "<task-notification>\n<status>done</status>\n</task-notification>"
        )
    ),
    "a meta line": lambda builder: encode_json_lines(
        builder.prompt("Caveat: …", isMeta=True)
    ),
    "a torn line": lambda builder: (
        encode_json_lines(builder.prompt("fix it"))[:80] + b"\n"
    ),
    "a prompt over the limit": lambda builder: encode_json_lines(
        builder.prompt("x" * 4000)
    ),
    "only an answer": lambda builder: b"",
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_session_without_a_human_prompt_settles_its_unlinked_subagent(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    opening: str,
):
    claude.limits = ReadLimits(chunk=1024, line=3000)
    path = claude.write()
    path.write_bytes(OPENINGS[opening](builder))
    claude.write(builder.answer("Done."))
    write_unlinked_subagent(claude, project)

    report = settle()

    assert report.files_written == 1
    assert list_transcripts(project, "subagents") == [
        "20261116-1000-count-the-files.txt"
    ]
    assert list_transcripts(project) == []
    assert settle().files_written == 0


def test_a_subagent_that_no_result_names_belongs_to_the_call_with_its_prompt(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(
        builder.prompt("delegate"),
        builder.call("Agent", {"prompt": "count the files"}, "toolu_1"),
        builder.prompt("next"),
        builder.answer("Done."),
    )
    # The builder's clock runs on: by time alone, the subagent would belong to the
    # second prompt.
    claude.write(
        builder.prompt("count the files", isSidechain=True),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )

    settle()

    (name,) = list_transcripts(project, "subagents")
    links = [
        SubagentBlock("a1", name) in read_transcript(project, number).blocks
        for number in range(2)
    ]
    assert links == [True, False]


def test_a_subagent_without_any_parent_log_is_not_written(
    claude: ClaudeHome, settle: SettleHarness
):
    write_unlinked_subagent(claude, Path("/nowhere"))

    assert settle().files_written == 0


@pytest.mark.fault("G5")
def test_a_unit_is_rendered_again_when_its_subagent_appears_later(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(
        builder.prompt("delegate"),
        builder.call("Agent", {"prompt": "count"}, "toolu_1"),
        builder.result("toolu_1", "ok", toolUseResult={"agentId": "a1"}),
        builder.prompt("next"),
    )
    settle()
    child = ClaudeLogBuilder(cwd=str(project))
    claude.write(
        child.prompt("count", isSidechain=True),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )

    report = settle()

    assert report.files_written == 2
    assert any(isinstance(b, SubagentBlock) for b in read_transcript(project).blocks)


@pytest.mark.usefixtures("project")
def test_a_unit_with_only_a_command_is_not_written(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("<command-name>/exit</command-name>"))

    assert settle().files_written == 0


def test_a_running_unit_is_not_written_until_its_end(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, clock: Any
):
    clock.at = clock.at.replace(hour=10, minute=1)
    claude.write(builder.prompt("go"), builder.call("Bash", {}, "toolu_1"))

    waiting = settle(is_final=False)
    claude.write(builder.result("toolu_1", "ok"), builder.answer("done"))
    early = settle(is_final=False)
    clock.advance(3)
    late = settle(is_final=False)

    assert (waiting.files_written, early.files_written, late.files_written) == (0, 0, 1)


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "max_tokens"])
def test_a_unit_settles_some_seconds_after_its_turn_ended_for_any_reason(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    clock: FakeClock,
    reason: str,
):
    clock.at = datetime(2026, 11, 16, 10, tzinfo=UTC)
    claude.write(builder.prompt("go"), builder.answer("Done.", stop_reason=reason))

    assert settle(is_final=False).files_written == 0
    clock.advance(3)
    assert settle(is_final=False).files_written == 1


@pytest.mark.threat("S1", "S2", "S3")
def test_secrets_never_reach_a_file_or_its_name(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    secret = "ghp_" + "a1B2" * 9
    claude.write(
        builder.prompt(f"use {secret}"),
        builder.call("Bash", {"command": "x" * 180 + secret}, "t1"),
        builder.result("t1", "y" * 190 + secret),
        builder.answer(secret),
    )

    settle()

    text = (
        project / META_FOLDER / "transcripts" / list_transcripts(project)[0]
    ).read_text()
    assert secret[:12] not in text + list_transcripts(project)[0]
    assert "[REDACTED:github:" in text


@pytest.mark.fault("D11")
def test_a_transcript_stays_within_its_maximum_size(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("日本" * 5000))
    claude.write(*[builder.answer(f"{number} 🎉" * 300) for number in range(60)])
    claude.write(builder.answer("the end"))

    settle()

    path = project / META_FOLDER / "transcripts" / list_transcripts(project)[0]
    assert path.stat().st_size <= 20_480
    assert read_transcript(project).blocks[-1].text == "the end"
    assert "[Cut] " in path.read_text()


def test_every_cut_in_a_transcript_is_marked(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    calls = [f"toolu_{number}" for number in range(160)]
    lines = [builder.call("Bash", {"command": f"{c} " + "x" * 150}, c) for c in calls]
    claude.write(builder.prompt("go"), *lines[:80], builder.answer("half"), *lines[80:])

    settle()

    text = next((project / META_FOLDER / "transcripts").iterdir()).read_text()
    is_written = [f"toolu_{number} " in text for number in range(160)]
    cut_counts = [
        block.omitted_blocks
        for block in parse_document(text).blocks
        if isinstance(block, CutBlock)
    ]
    assert is_written[0]
    assert "half" in text
    # A call without a result has two blocks.
    halves = is_written[:80], is_written[80:]
    assert cut_counts == [2 * half.count(False) for half in halves]
    assert len(text.encode()) <= 20_480


@pytest.mark.fault("D10")
def test_a_thread_keeps_only_its_newest_fifty_transcripts(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(*[builder.prompt(f"number {number}") for number in range(60)])
    first = settle()
    claude.write(builder.prompt("one more"))

    report = settle()

    assert (first.files_written, first.files_removed) == (50, 0)
    assert (
        report.files_written,
        report.files_removed,
        len(list_transcripts(project)),
    ) == (
        1,
        1,
        50,
    )
    assert {name[14:] for name in list_transcripts(project)} == {
        *(f"number-{number}.txt" for number in range(11, 60)),
        "one-more.txt",
    }
    assert settle().files_written == 0


@pytest.mark.fault("D10")
def test_a_unit_without_a_time_counts_as_newer_than_the_unit_before_it(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(*[builder.prompt(f"number {number}") for number in range(60)])
    settle()
    claude.write(builder.prompt("one more", timestamp="noon"))

    report = settle()

    assert (
        report.files_written,
        report.files_removed,
        len(list_transcripts(project)),
    ) == (
        1,
        1,
        50,
    )
    assert any(name.endswith("one-more.txt") for name in list_transcripts(project))


@pytest.mark.fault("D7")
@pytest.mark.threat("P2")
def test_a_link_in_place_of_the_output_folder_is_not_followed(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    tmp_path: Path,
):
    (tmp_path / "elsewhere").mkdir()
    (project / ".leslie").symlink_to(tmp_path / "elsewhere")
    claude.write(builder.prompt("one"))

    settle()

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert len(list(claude.store_path.parent.rglob("central/**/*.txt"))) == 1


@pytest.mark.fault("D7")
@pytest.mark.threat("P2")
@pytest.mark.usefixtures("settled_transcript")
def test_a_parent_replaced_by_a_link_stops_writing_until_it_is_back(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    tmp_path: Path,
):
    # The link leads to a folder of somebody else, which everybody can write to.
    foreign = tmp_path / "foreign"
    (foreign / project.name).mkdir(parents=True)
    for folder in (foreign, foreign / project.name):
        folder.chmod(0o777)
    claude.projects.parent.rename(tmp_path / "agent")
    moved = claude.home.rename(tmp_path / "moved")
    claude.home.symlink_to(foreign)
    (foreign / ".claude").symlink_to(tmp_path / "agent")
    claude.write(builder.prompt("two"))

    report = settle()

    assert list((foreign / project.name).iterdir()) == []
    assert "symbolic link" in report.errors[SESSION]
    claude.home.unlink()
    moved.rename(claude.home)
    (tmp_path / "agent").rename(claude.projects.parent)
    assert settle().errors == {}
    assert [name[14:] for name in list_transcripts(project)] == ["go.txt", "two.txt"]


@pytest.mark.threat("S8")
def test_git_ignores_all_written_files(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))
    settle()

    status = subprocess.run(
        ["git", "-C", str(project), "status", "--porcelain", "--untracked-files=all"],
        capture_output=True,
        check=True,
    )
    assert status.stdout == b""


@pytest.mark.threat("S7")
def test_written_files_and_folders_are_private(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))
    before = os.umask(0)
    try:
        settle()
    finally:
        os.umask(before)

    paths = [project / ".leslie", *(project / ".leslie").rglob("*")]
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)


def test_an_old_session_is_written_to_the_central_tree(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))

    settle(backfill="central")

    assert not (project / ".leslie").exists()
    assert len(list(claude.store_path.parent.rglob("central/**/*.txt"))) == 1


def mark_live(claude: ClaudeHome) -> None:
    """Record that a process works on the session, as stop detection does."""
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        store.mark_live([("claude-code", SESSION)])


def list_central(claude: ClaudeHome) -> list[Path]:
    return list(claude.store_path.parent.rglob("central/**/*.txt"))


def test_a_session_that_is_open_when_the_store_is_created_is_not_old(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))
    mark_live(claude)

    settle(backfill="central")

    assert len(list_transcripts(project)) == 1
    assert not list_central(claude)


def test_an_open_session_is_written_if_old_sessions_are_not(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))
    mark_live(claude)

    settle(backfill="none")

    assert len(list_transcripts(project)) == 1


def test_an_old_session_that_goes_on_moves_to_its_project(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    settle(backfill="central")
    builder.started_at = AFTER_STORE_CREATION
    claude.write(builder.prompt("two"), builder.answer("2"))

    report = settle(backfill="central")

    names = ["20261116-1000-one.txt", "21000101-0000-two.txt"]
    assert list_transcripts(project) == names
    assert report.moved_threads == {"thread-11111111": str(project)}


@pytest.mark.usefixtures("project")
def test_a_thread_moves_to_its_project_only_once(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"))
    settle(backfill="central")
    builder.started_at = AFTER_STORE_CREATION
    claude.write(builder.prompt("two"))
    settle(backfill="central")
    claude.write(builder.answer("2"))

    report = settle(backfill="central")

    assert report.moved_threads == {}
    assert report.files_written == 1


def test_an_old_session_that_goes_on_stays_if_its_project_cannot_be_written(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"))
    settle(backfill="central")
    (project / ".leslie").write_text("not a folder")
    builder.started_at = AFTER_STORE_CREATION
    claude.write(builder.prompt("two"))

    report = settle(backfill="central")

    assert (report.moved_threads, report.errors) == ({}, {})
    assert len(list_central(claude)) == 2


def test_an_old_session_that_goes_on_stays_where_its_project_is_refused(
    claude: ClaudeHome, settle: SettleHarness
):
    builder = ClaudeLogBuilder(cwd="/etc")
    claude.write(builder.prompt("one"))
    settle(backfill="central")
    builder.started_at = AFTER_STORE_CREATION
    claude.write(builder.prompt("two"))

    report = settle(backfill="central")

    assert report.moved_threads == {}
    assert len(list_central(claude)) == 2


@pytest.mark.threat("P1")
@pytest.mark.parametrize(
    "cwd", ["/", "/etc", "/tmp/x", "../x", "relative", "/nowhere/x"]
)
def test_a_hostile_folder_is_never_written_to(
    claude: ClaudeHome, settle: SettleHarness, cwd: str
):
    claude.write(ClaudeLogBuilder(cwd=cwd).prompt("one"))

    settle()

    written = list(claude.store_path.parent.rglob("central/**/*.txt"))
    assert len(written) == 1


@pytest.mark.fault("F2")
def test_an_existing_transcript_keeps_its_time_zone(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    settle(zone=timezone(timedelta(hours=8)))
    before = (
        project / META_FOLDER / "transcripts" / list_transcripts(project)[0]
    ).read_bytes()
    claude.write(builder.answer("2"))
    settle(zone=timezone(timedelta(hours=-5)))

    after = (
        project / META_FOLDER / "transcripts" / list_transcripts(project)[0]
    ).read_bytes()
    assert b"T18:00:01+08:00" in before
    assert b"T18:00:01+08:00" in after


def test_long_results_are_cut_and_show_their_length(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    claude.write(
        builder.prompt("go"),
        builder.call("Bash", {}, "t1"),
        builder.result("t1", "x" * 5000),
    )

    settle()

    (result,) = [
        b for b in read_transcript(project).blocks if isinstance(b, ResultBlock)
    ]
    assert len(result.text) <= 200
    assert "… [5000 characters: leslied show " in result.text
    assert result.name == "Bash"


@pytest.mark.parametrize("work", ["_make_writer", "write_files"])
def test_a_session_that_fails_unexpectedly_does_not_stop_the_others(
    work: str,
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    other_builder = ClaudeLogBuilder(
        "22222222-2222-4333-8444-555555555555", cwd=str(project)
    )
    claude.write(builder.prompt("bad"), builder.answer("Done."))
    claude.write(
        other_builder.prompt("good"),
        name=f"-home-dev-app/{other_builder.session_id}.jsonl",
    )
    owner = TranscriptStage if work == "_make_writer" else TranscriptWriter
    succeed = getattr(owner, work)

    def fail_for_session(self: Any, *args: Any) -> Any:
        key = args[0].key if owner is TranscriptStage else self.session_key
        if key.session_id == SESSION:
            raise ZeroDivisionError
        return succeed(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(owner, work, fail_for_session)
        report = settle()

    assert report.files_written == 1
    assert report.errors[SESSION].startswith("unexpected ZeroDivisionError")
    assert settle().files_written == 1


def test_settling_yields_to_new_entries_after_the_current_unit(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    for number in range(5):
        claude.write(builder.prompt(f"step {number}"), builder.answer("Done."))

    reports = [settle(Budget(should_yield=lambda: True))]
    reports += [settle(Budget(should_yield=lambda: True))]
    reports += [settle()]

    assert [report.units for report in reports] == [1, 1, 3]
    assert [report.has_more for report in reports] == [True, True, False]
    assert len(list_transcripts(project)) == 5


def test_sessions_that_settling_did_not_get_to_come_first_in_the_next_run(
    claude: ClaudeHome, settle: SettleHarness, project: Path
):
    builders = [
        ClaudeLogBuilder(f"{number:08}-2222-4333-8444-555555555555", cwd=str(project))
        for number in range(3)
    ]
    postponed: dict[SessionKey, None] = {}
    counts: list[int] = []
    for _ in builders:
        for builder in builders:
            claude.write(
                builder.prompt("go"),
                builder.answer("Done."),
                name=f"-home-dev-app/{builder.session_id}.jsonl",
            )
        settle(Budget(should_yield=lambda: True), _postponed=postponed)
        threads = project.glob(".leslie/threads/*/.meta/transcripts")
        counts.append(len(list(threads)))

    assert counts == [1, 2, 3]


@pytest.mark.fault("D6")
@pytest.mark.usefixtures("settled_transcript")
def test_deleted_transcripts_of_old_units_are_not_written_again(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    shutil.rmtree(project / ".leslie")

    report = settle()
    is_left_deleted = not (project / ".leslie").exists()
    claude.write(builder.prompt("two"), builder.answer("Done."))
    settle()

    assert report.files_written == 0
    assert is_left_deleted
    assert [name[14:] for name in list_transcripts(project)] == ["two.txt"]


@pytest.mark.fault("D5")
def test_a_project_that_is_gone_gets_its_transcripts_in_the_central_tree(
    claude: ClaudeHome, settle: SettleHarness, builder: ClaudeLogBuilder, project: Path
):
    shutil.rmtree(project)
    claude.write(builder.prompt("one"), builder.answer("Done."))

    report = settle()

    assert report.errors == {}
    assert not project.exists()
    assert len(list_central(claude)) == 1


@pytest.mark.fault("D4")
def test_a_transcript_that_finds_no_space_is_written_later(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    claude.write(builder.prompt("one"), builder.answer("Done."))

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        report = settle()
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    before = list_transcripts(project)
    again = settle()

    assert "No space left" in report.errors[SESSION]
    assert (session.units, before) == (1, [])
    assert again.errors == {}
    assert [name[14:] for name in list_transcripts(project)] == ["one.txt"]


def test_texts_that_are_loaded_when_shown_do_not_change_transcripts(
    claude: ClaudeHome,
    settle: SettleHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    lines = []
    for unit in range(10):
        lines.append(builder.prompt(f"{unit} 汉字" * 2000))
        for number in range(10):
            call_id = f"toolu_{unit}_{number}"
            lines += [
                builder.think(f"thought {number} " * 100),
                builder.call("Bash", {"command": f"echo {number} " * 100}, call_id),
                builder.result(call_id, f"é{number} " * 500),
                builder.answer(f"answer {number} " * 300),
            ]
    claude.write(*lines)

    def read_transcripts() -> dict[str, bytes]:
        assert settle(include_thinking=True).files_written == 10
        folder = project / ".leslie"
        files = {p.name: p.read_bytes() for p in sorted(folder.rglob("*.txt"))}
        shutil.rmtree(folder)
        shutil.rmtree(claude.store_path.parent)
        return files

    transcripts = read_transcripts()
    monkeypatch.setattr(unit_entries, "MAX_CHARACTERS", 0)

    assert read_transcripts() == transcripts
