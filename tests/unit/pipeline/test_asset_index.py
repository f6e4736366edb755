"""The third street: threads that changed are indexed, and nothing else happens."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leslied.pipeline import AssetIndex, AssetIndexReport, Settle, thread_assets
from leslied.redact import Redactor
from leslied.sinks import OutputPolicy
from leslied.store import Store, StoreReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import load_golden

ID = "thread-11111111"
OTHER = "22222222-2222-4333-8444-555555555555"
SECRET = "sk-ant-" + "a1b2c3d4" * 5


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def thread(project: Path) -> Path:
    folder = project / ".leslie" / "threads" / ID
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def talk(project: Path) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(project))


class AssetIndexHarness:
    """All streets, over a home."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude
        self.is_central = False

    def __call__(self, **more: Any) -> AssetIndexReport:
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
                plan_folders=[claude.home / ".claude" / "plans"],
            ).scan(**more)

    def _settle(self, store: Store, reader: StoreReader) -> None:
        policy = OutputPolicy(
            home=self.claude.home,
            central=self.claude.store_path.parent / "central",
            user=os.getuid(),
            is_central=self.is_central,
        )
        Settle(
            store=store,
            reader=reader,
            policy=policy,
            redact=Redactor(b"key").redact,
            clock=self.claude.clock,
            backfill="project",
            is_final=True,
            zone=UTC,
        ).run()

    def ask(self, query: str, *values: Any) -> None:
        with Store(self.claude.store_path, self.claude.clock) as store:
            store._db.execute(query, values)


@pytest.fixture
def street(claude: ClaudeHome) -> AssetIndexHarness:
    return AssetIndexHarness(claude)


def make_call_lines(
    talk: ClaudeLogBuilder, tool: str, told: Any, call_id: str, result: str = "ok"
) -> list[Any]:
    return [talk.call(tool, told, call_id), talk.result(call_id, result)]


def read(thread: Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((thread / ".meta" / "assets.json").read_text())
    return index


def calls(thread: Path, number: int = 0) -> list[str]:
    return [call["call_id"] for call in read(thread)["assets"][number]["calls"]]


def snapshot(project: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in (project / ".leslie").rglob("*") if path.is_file()]
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def test_a_plan_is_indexed_with_the_calls_that_made_it(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    told = {"file_path": str(thread / "plan.md")}
    claude.write(talk.prompt("plan it"), *make_call_lines(talk, "Write", told, "c1"))
    claude.write(*make_call_lines(talk, "Edit", told, "c2"), talk.answer("Done."))
    (thread / "plan.md").write_text("# The mill\n")

    street()

    plan = read(thread)["assets"][0]
    assert (plan["type"], plan["form"], plan["title"]) == ("plan", "file", "The mill")
    first = plan["calls"][0]
    assert (first["call_id"], first["kind"], first["tool"]) == ("c1", "write", "Write")
    assert (first["session_id"], first["source"]) == (SESSION, "main")
    assert first["chat_id"].startswith("chat-")
    assert plan["history"][0]["calls"] == ["c1", "c2"]


def test_a_second_run_writes_nothing(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(talk.prompt("plan it"), talk.answer("Done."))
    (thread / "plan.md").write_text("# The mill\n")
    street()
    before = snapshot(project)

    done = street()

    assert (done.threads, done.files_written) == (0, 0)
    assert snapshot(project) == before


def test_everything_indexed_anew_gives_the_same_bytes(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    told = {"file_path": str(thread / "plan.md")}
    claude.write(talk.prompt("plan it"), *make_call_lines(talk, "Write", told, "c1"))
    claude.write(
        *make_call_lines(talk, "TodoWrite", {"todos": [{"content": "Dam"}]}, "c2")
    )
    (thread / "plan.md").write_text("# The mill\n")
    street()
    before = snapshot(project)
    for table in ("collected", "touch", "touched"):
        street.ask(f"DELETE FROM {table}")
    street.ask("INSERT INTO collected (session) SELECT id FROM session")

    done = street()

    assert (done.threads, done.files_written) == (1, 0)
    assert snapshot(project) == before


def test_an_asset_that_a_person_changed_is_seen_and_has_no_call(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    claude.write(talk.prompt("plan it"), talk.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    street()
    (thread / "plan.md").write_text("# Another\n")

    done = street()

    history = read(thread)["assets"][0]["history"]
    assert done.threads == 1
    assert [change["calls"] for change in history] == [[], []]
    assert history[0]["sha256"] != history[1]["sha256"]


def test_an_unchanged_file_is_not_read_again(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    claude.write(talk.prompt("plan it"), talk.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    street()
    street.ask("UPDATE collected SET files = replace(files, 'One', 'Remembered')")
    (thread / "progress.md").write_text("# Progress\n")

    street()

    assert read(thread)["assets"][0]["title"] == "Remembered"


def test_only_new_units_are_read_again(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    told = {"file_path": str(thread / "plan.md")}
    (thread / "plan.md").write_text("# One\n")
    claude.write(talk.prompt("one"), *make_call_lines(talk, "Write", told, "c1"))
    street()
    street.ask("UPDATE touch SET call_id = 'remembered' WHERE call_id = 'c1'")
    claude.write(talk.prompt("two"), *make_call_lines(talk, "Edit", told, "c2"))

    street()

    assert calls(thread) == ["remembered", "c2"]


def test_a_call_that_later_says_something_else_is_read_again(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    (thread / "plan.md").write_text("# One\n")
    use, result = make_call_lines(talk, "Write", {"file_path": "/elsewhere"}, "c1")
    claude.write(talk.prompt("one"), use, result, talk.prompt("two"))
    street()
    use["message"]["content"][0]["input"] = {"file_path": str(thread / "plan.md")}
    claude.write(use)

    street()

    assert calls(thread) == ["c1"]


def test_a_subagents_call_is_told_as_the_subagents(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    (thread / "plan.md").write_text("# One\n")
    claude.write(talk.prompt("one"), talk.answer("Done."))
    told = {"file_path": str(thread / "plan.md")}
    lines = [talk.prompt("sub"), *make_call_lines(talk, "Write", told, "c1")]
    for line in lines:
        line |= {"isSidechain": True, "agentId": "abc"}
    claude.write(*lines, name=f"-home-dev-app/{SESSION}/subagents/agent-abc.jsonl")

    street()

    (call,) = read(thread)["assets"][0]["calls"]
    assert (call["call_id"], call["source"]) == ("c1", "subagent:abc")


def test_another_session_may_have_written_the_plan(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(talk.prompt("one"), talk.answer("Done."))
    street()
    (thread / "plan.md").write_text("# One\n")
    other = ClaudeLogBuilder(OTHER, str(project))
    told = {"file_path": str(thread / "plan.md")}
    lines = [other.prompt("help"), *make_call_lines(other, "Write", told, "c9")]
    claude.write(*lines, name=f"-home-dev-app/{OTHER}.jsonl")

    street()

    (call,) = read(thread)["assets"][0]["calls"]
    assert (call["session_id"], call["call_id"]) == (OTHER, "c9")


def test_a_relative_path_is_found_from_the_folder_of_an_earlier_unit(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    (thread / "plan.md").write_text("# One\n")
    claude.write(talk.prompt("one"), talk.answer("Done."))
    talk.cwd = str(thread)
    claude.write(talk.prompt("two"), talk.answer("There."))
    street()
    claude.write(
        talk.prompt("3"),
        *make_call_lines(talk, "Bash", {"command": "ls > plan.md"}, "c"),
    )

    street()

    assert calls(thread) == ["c"]


def test_lists_kept_elsewhere_are_collected_where_the_thread_has_none(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    todos = {"todos": [{"content": f"Dam {SECRET}", "status": "in_progress"}]}
    claude.write(talk.prompt("go"), *make_call_lines(talk, "TodoWrite", todos, "c1"))
    claude.write(
        *make_call_lines(talk, "ExitPlanMode", {"plan": f"# Mill {SECRET}"}, "c2")
    )
    street()

    plan, progress = read(thread)["assets"][1:]

    assert (plan["type"], plan["collected"]) == ("plan", True)
    assert (progress["type"], progress["calls"][0]["call_id"]) == ("progress", "c1")
    written = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert written.startswith("# Mill [REDACTED:anthropic:")
    assert read(thread)["progress"]["open"] == 1


def test_an_own_plan_takes_the_collected_ones_place(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    claude.write(
        talk.prompt("go"), *make_call_lines(talk, "ExitPlanMode", {"plan": "# A"}, "c1")
    )
    street()
    (thread / "plan.md").write_text("# Own\n")

    street()

    assert not (thread / ".meta" / "collected" / "plan.md").exists()
    titles = [a["title"] for a in read(thread)["assets"] if a["type"] == "plan"]
    assert titles == ["Own"]


def test_a_plans_file_is_read_only_where_agents_keep_plans(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    home: Path,
):
    """P5: a log names any path it likes."""
    stranger = home / "x" / ".claude" / "plans" / "id.md"
    stranger.parent.mkdir(parents=True)
    stranger.write_text("private")
    told = {"file_path": str(stranger), "content": "# Told"}
    claude.write(talk.prompt("go"), *make_call_lines(talk, "Write", told, "c1"))

    street()

    collected = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert collected == "# Told\n"


def test_the_claude_plan_that_was_edited_is_told_as_it_is(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    home: Path,
):
    plan = home / ".claude" / "plans" / "brave-oak.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Now\n")
    told = {"file_path": str(plan), "content": "# Then"}
    claude.write(talk.prompt("go"), *make_call_lines(talk, "Write", told, "c1"))

    street()

    collected = (thread / ".meta" / "collected" / "plan.md").read_text()
    assert collected == "# Now\n"


def test_secrets_in_titles_and_progress_do_not_reach_the_index(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(talk.prompt(f"use {SECRET}"), talk.answer("Done."))
    (thread / "plan.md").write_text(f"# Key {SECRET}\n")
    (thread / "progress.md").write_text(f"- [ ] use {SECRET}\n")

    street()

    ours = [thread / ".meta/assets.json", project / ".leslie/index.json"]
    for path in [*ours, project / ".leslie" / "INDEX.md"]:
        assert SECRET not in path.read_text()
        assert "REDACTED" in path.read_text()


def test_a_name_of_broken_bytes_hinders_nothing(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    claude.write(talk.prompt("go"), talk.answer("Done."))
    (thread / "design").mkdir()
    (Path(os.fsdecode(os.fsencode(thread) + b"/design/\xff.md"))).write_text("x")

    done = street()

    assert done.errors == {}
    assert read(thread)["assets"][0]["files"][0]["path"].endswith("\ufffd.md")
    assert street().files_written == 0


def test_what_stands_where_the_index_should_is_not_followed(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    tmp_path: Path,
):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (thread / ".meta").mkdir()
    (thread / ".meta" / "assets.json").symlink_to(victim)
    os.mkfifo(thread.parents[1] / "INDEX.md")
    claude.write(talk.prompt("go"), talk.answer("Done."))

    street()

    assert victim.read_text() == "mine"
    assert read(thread)["thread"] == ID
    assert (thread.parents[1] / "INDEX.md").read_text().startswith("<!--")


def test_a_folder_that_was_taken_away_does_not_come_back(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.write(talk.prompt("go"), talk.answer("Done."))
    (thread / "plan.md").write_text("# One\n")
    street()
    subprocess.run(["rm", "-r", str(project / ".leslie")], check=True)
    street.ask("UPDATE collected SET is_due = 1")

    done = street()

    assert done.errors == {}
    assert not (project / ".leslie").exists()


def test_assets_in_a_project_that_is_not_written_to_are_indexed_elsewhere(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    street.is_central = True
    told = {"file_path": str(thread / "plan.md")}
    claude.write(talk.prompt("go"), *make_call_lines(talk, "Write", told, "c1"))
    (thread / "plan.md").write_text("# One\n")

    street()

    (index,) = claude.store_path.parent.rglob("assets.json")
    plan, transcripts = json.loads(index.read_text())["assets"][::-1]
    assert (plan["title"], plan["calls"][0]["call_id"]) == ("One", "c1")
    assert transcripts["type"] == "transcript"
    assert sorted(p.name for p in (project / ".leslie").rglob("*")) == [
        "plan.md",
        ID,
        "threads",
    ]


def test_a_session_that_grew_quiet_is_told_as_stopped(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=10, minute=0, second=9)  # type: ignore[attr-defined]
    claude.write(talk.prompt("go"), talk.answer("Done."))
    street()
    page = project / ".leslie" / "INDEX.md"
    assert " · idle · " in page.read_text()
    claude.clock.advance(3600)  # type: ignore[attr-defined]

    done = street()

    assert done.threads == 1
    assert " · stopped · " in page.read_text()
    assert street().threads == 0


def test_a_thread_that_could_not_be_written_is_tried_again(
    claude: ClaudeHome, street: AssetIndexHarness, talk: ClaudeLogBuilder, thread: Path
):
    claude.write(
        talk.prompt("go"), *make_call_lines(talk, "ExitPlanMode", {"plan": "# A"}, "c1")
    )
    (thread / ".meta").mkdir()
    (thread / ".meta" / "collected").write_text("in the way")

    assert list(street().errors) == [SESSION]
    (thread / ".meta" / "collected").unlink()
    assert street().errors == {}

    assert (thread / ".meta" / "collected" / "plan.md").exists()


def test_a_crash_before_the_projects_index_leaves_it_due(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    claude.write(talk.prompt("go"), talk.answer("Done."))
    with monkeypatch.context() as patch:
        patch.setattr("leslied.pipeline.asset_index.render_index", crash)
        with pytest.raises(KeyboardInterrupt):
            street()

    street()

    assert (project / ".leslie" / "index.json").exists()


def test_a_failure_in_the_projects_index_leaves_it_due(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    claude.write(talk.prompt("go"), talk.answer("Done."))
    with monkeypatch.context() as patch:
        patch.setattr("leslied.pipeline.asset_index.render_index", lambda *_: 1 / 0)
        done = street()
    street()

    assert "unexpected ZeroDivisionError" in done.errors[str(project)]
    assert (project / ".leslie" / "index.json").exists()


def test_every_thread_is_looked_at_in_turn(
    claude: ClaudeHome, street: AssetIndexHarness, project: Path
):
    for number in range(6):
        talk = ClaudeLogBuilder(f"{number}{SESSION[1:]}", str(project))
        name = f"-home-dev-app/{talk.session_id}.jsonl"
        claude.write(talk.prompt("go"), talk.answer("Done."), name=name)
    street()
    for folder in (project / ".leslie" / "threads").iterdir():
        (folder / "plan.md").write_text("# One\n")

    looks = [street(newest_limit=1, others_limit=2).threads for _ in range(5)]

    assert sum(looks) == 6
    assert max(looks) <= 3


def test_the_page_is_one_a_person_likes_to_read(
    claude: ClaudeHome,
    street: AssetIndexHarness,
    talk: ClaudeLogBuilder,
    thread: Path,
    project: Path,
    pytestconfig: pytest.Config,
):
    told = {"file_path": str(thread / "plan.md")}
    claude.write(
        talk.prompt("Build | the *mill*"), *make_call_lines(talk, "Write", told, "c1")
    )
    (thread / "plan.md").write_text("# The [mill]\n")
    (thread / "progress.md").write_text(
        "## Done\n- [x] Dam\n## Blocked\n- [ ] Roof (no slate)\n## Open\n- [ ] Wheel\n"
    )
    (thread / "learnings").mkdir()
    for number in range(26):
        other = ClaudeLogBuilder(
            f"{number:08x}-2222-4333-8444-555555555555", str(project)
        )
        name = f"-home-dev-app/{other.session_id}.jsonl"
        claude.write(other.prompt(f"small thing {number}"), name=name)

    street()

    page = (project / ".leslie" / "INDEX.md").read_text()
    golden = Path(__file__).with_name("index.golden.md")
    assert page == load_golden(golden, page, pytestconfig)
    index = json.loads((project / ".leslie" / "index.json").read_text())
    assert (index["thread_count"], len(index["threads"])) == (27, 27)
    assert index["threads"][0]["id"] == ID


def test_words_that_a_call_must_hold_are_the_ones_it_is_read_for():
    """A call that the store leaves out could not have been of any thread."""
    assert ".leslie" in thread_assets._THREADS
    assert thread_assets._CALL_KEYWORDS == (".leslie", "plans")
