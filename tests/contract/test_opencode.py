"""What OpenCode's database and files mean, fact by fact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.model.record import PlacedRecord
from leslied.model.session import SessionSummary
from leslied.model.source import Environment, WatchDepth
from leslied.pipeline.archiver import Archiver
from leslied.sessions import RecordStream, assemble
from leslied.store import Store, StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.golden import FIXTURES, copy_home, make_environment, sync_home
from tests.support.opencode import ADAPTER, NOW, OpenCodeHome


class OpenCodeStoreContents:
    """What the store tells of its sessions."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            everyone = reader.list_sessions()
            self.mains = {s.key.session_id: s for s in everyone if not s.is_subagent}
            self.subagents = {s.subagent_id: s for s in everyone if s.is_subagent}
            self._records = {s.row: list(reader.list_records(s.row)) for s in everyone}
            self.rejected = reader.list_rejected(99)

    @property
    def main(self) -> SessionSummary:
        (main,) = self.mains.values()
        return main

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main).row]

    def messages(self, session: SessionSummary | None = None) -> list[str]:
        """Whose turn it was, and the words, in order."""
        names = {"user_message": "user", "assistant_message": "agent"}
        return [
            f"{names.get(p.record.type, p.record.type)}: {p.record.content}"
            for p in self.records(session)
            if p.record.type not in ("system_event", "token_usage")
        ]

    def stop_reason(self) -> str:
        units = assemble(RecordStream(self.main, self.records()), [])
        return units[-1].stop_reason


@pytest.fixture
def opencode(home: Path, tmp_path: Path, clock: FakeClock) -> OpenCodeHome:
    return OpenCodeHome(home, tmp_path / "store.db", clock)


@pytest.fixture
def tell(opencode: OpenCodeHome):
    """Reads what is new and tells all there is."""

    def look(**more: Any) -> OpenCodeStoreContents:
        opencode.sync(**more)
        return OpenCodeStoreContents(opencode.store_path)

    return look


@pytest.fixture
def read(home: Path, tmp_path: Path, clock: FakeClock):
    """Reads a fixture case."""

    def read_case(case: str) -> OpenCodeStoreContents:
        copy_home(FIXTURES / "opencode" / case, home)
        sync_home(ADAPTER, home, tmp_path / "case.db", clock)
        return OpenCodeStoreContents(tmp_path / "case.db")

    return read_case


class TestWhereItWrites:
    def test_the_data_folder_and_the_tree_in_it(self, tmp_path: Path):
        database, tree = ADAPTER.roots(make_environment(tmp_path), [])

        assert database.path == tmp_path / ".local/share/opencode"
        assert database.watch is WatchDepth.FLAT
        assert tree.path == tmp_path / ".local/share/opencode/storage/session"
        assert tree.watch is WatchDepth.NONE

    def test_the_data_home_moves_it(self, tmp_path: Path):
        told = {"XDG_DATA_HOME": str(tmp_path / "data")}
        env = Environment(home=tmp_path, environ=told, platform="linux")

        assert next(iter(ADAPTER.roots(env, []))).path == tmp_path / "data/opencode"

    def test_a_configured_folder_replaces_it(self, tmp_path: Path):
        database, _ = ADAPTER.roots(make_environment(tmp_path), [tmp_path / "other"])

        assert database.path == tmp_path / "other"

    def test_a_session_goes_on_by_its_id(self):
        assert ADAPTER.resume_command("ses_1") == "opencode --session ses_1"


class TestATurnWhileItIsWritten:
    def test_words_come_whole_and_once(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Hello")
        opencode.message("msg_2", "assistant")
        opencode.part("msg_2", "prt_2", "text", text="", time={"start": NOW})
        before = tell().messages()
        done = {"start": NOW, "end": NOW + 5}
        opencode.part("msg_2", "prt_2", "text", text="Hi there", time=done)

        assert before == ["user: Hello"]
        assert tell().messages() == ["user: Hello", "agent: Hi there"]

    def test_the_turn_is_over_when_the_message_is(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Hello")
        before = tell().main.has_turn_ended
        opencode.answer("Hi")

        told = tell()

        assert (before, told.main.has_turn_ended) == (False, True)
        assert told.stop_reason() == "end_turn"

    def test_the_next_prompt_starts_a_unit_that_is_not_over(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        tell()
        opencode.prompt("And now?", "msg_3")

        main = tell().main

        assert (main.units, main.has_turn_ended) == (2, False)

    def test_a_call_comes_when_its_arguments_are_known(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.tool("msg_2", "prt_2", "pending", input={})
        pending = tell().main.tool_calls
        opencode.tool("msg_2", "prt_2", "running", time={"start": NOW})
        running = [p.record for p in tell().records() if p.record.type == "tool_use"]
        opencode.tool("msg_2", "prt_2", "completed", output="a.txt")

        assert pending == 0
        assert [r.tool_input for r in running] == ['{"command":"ls"}']
        assert tell().messages()[-2:] == ["tool_use: ", "tool_result: a.txt"]

    def test_a_call_waits_for_the_words_before_it(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.part("msg_2", "prt_2", "text", text="", time={"start": NOW})
        opencode.tool("msg_2", "prt_3", "running", time={"start": NOW})
        tell()
        done = {"start": NOW, "end": NOW + 5}
        opencode.part("msg_2", "prt_2", "text", text="I look.", time=done)

        assert tell().messages() == ["user: Look", "agent: I look.", "tool_use: "]

    def test_tokens_count_once_however_often_the_message_is_written(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        for _ in range(3):
            tell()
            opencode.part("msg_2", "prt_x", "patch", files=[])

        usage = tell().main.usage

        assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (
            5,
            2,
            1,
        )

    def test_a_title_replaces_the_first_prompt(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        before = tell().main.title
        opencode.session(title="A greeting")
        named = tell().main.title
        opencode.session(title="The greeting")

        assert (before, named, tell().main.title) == (
            "Hello",
            "A greeting",
            "The greeting",
        )

    def test_a_late_change_of_the_prompts_row_does_not_move_the_prompt(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.message("msg_1", "user")
        tell()
        opencode.part("msg_1", "prt_1", "text", text="Hello")
        opencode.answer("Hi")
        opencode.message("msg_1", "user", summary={"diffs": []})

        assert tell().messages() == ["user: Hello", "agent: Hi"]


class TestWithoutEvents:
    @pytest.fixture
    def opencode(self, home: Path, tmp_path: Path, clock: FakeClock) -> OpenCodeHome:
        return OpenCodeHome(home, tmp_path / "store.db", clock, has_events=False)

    def test_rows_written_over_are_seen(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.tool("msg_2", "prt_2", "running", time={"start": NOW})
        tell()
        opencode.tool("msg_2", "prt_2", "completed", output="a.txt")
        tell()
        opencode.answer("One file.", "msg_3")
        opencode.session(title="Files")

        told = tell()

        assert told.messages() == [
            "user: Look",
            "tool_use: ",
            "tool_result: a.txt",
            "agent: One file.",
        ]
        assert (told.main.title, told.main.has_turn_ended) == ("Files", True)

    def test_a_table_of_events_that_comes_later_is_used(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("Hello")
        tell()
        opencode.db.execute(
            "CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, "
            "type text, data text)"
        )
        opencode.has_events = True
        opencode.answer("Hi")

        assert tell().messages() == ["user: Hello", "agent: Hi"]


class TestRowsThatGo:
    def test_an_undone_prompt_stays_and_the_next_one_is_read(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("First", "msg_1")
        opencode.prompt("Undone", "msg_2")
        tell()
        opencode.db.execute("DELETE FROM message WHERE id = 'msg_2'")
        opencode.db.execute("DELETE FROM part WHERE message_id = 'msg_2'")
        opencode.prompt("Instead", "msg_3")

        assert tell().messages() == ["user: First", "user: Undone", "user: Instead"]

    def test_rows_numbered_anew_give_no_doubles(self, opencode: OpenCodeHome, tell):
        for number in range(4):
            opencode.session(f"ses_{number}")
            opencode.prompt("Hello", f"msg_{number}", f"ses_{number}")
        tell()
        for table in ("session", "message", "part"):
            column = "id" if table == "session" else "session_id"
            opencode.db.execute(f"DELETE FROM {table} WHERE {column} = 'ses_0'")
        opencode.db.execute("DELETE FROM event")
        opencode.db.execute("VACUUM")
        opencode.session("ses_5")
        opencode.prompt("New", "msg_5", "ses_5")

        told = tell()

        assert sorted(told.mains) == ["ses_0", "ses_1", "ses_2", "ses_3", "ses_5"]
        assert all(len(told.messages(s)) == 1 for s in told.mains.values())


class TestWhoSpeaks:
    def test_what_the_client_adds_is_no_prompt(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Read it")
        opencode.part("msg_1", "prt_x", "text", text="(file)", synthetic=True)
        opencode.part("msg_1", "prt_y", "text", text="(note)", ignored=True)

        told = tell()

        assert told.messages() == ["user: Read it"]
        assert told.main.units == 1

    def test_files_are_part_of_the_prompt_by_name(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("See")
        url = "data:image/png;base64," + "A" * 4000
        opencode.part("msg_1", "prt_x", "file", mime="image/png", url=url)

        assert tell().messages() == ["user: See\n\n[file image/png, 3 KB]"]

    @pytest.mark.parametrize(
        ("stored", "shown"),
        [
            ('"say hi"', "say hi"),
            ('"say \\"hi\\" twice"', 'say "hi" twice'),
            ('"hi"', '"hi"'),
            ('"say hi" and "go on"', '"say hi" and "go on"'),
            ("say hi", "say hi"),
        ],
    )
    def test_quotes_that_run_puts_around_words_are_taken_off(
        self, opencode: OpenCodeHome, tell, stored: str, shown: str
    ):
        opencode.session()
        opencode.prompt(stored)

        assert tell().messages() == [f"user: {shown}"]

    def test_plan_mode_is_told(self, read):
        prompts = [p.record for p in read("no-events").records() if p.record.content]

        assert prompts[0].metadata["permission_mode"] == "plan"


class TestHowATurnEnds:
    def test_an_error_ends_it(self, read):
        told = read("error")

        assert told.messages()[-1] == "error: APIError 400: scripted bad request"
        assert told.main.has_turn_ended
        assert told.stop_reason() == "error"

    def test_an_answer_cut_off_ends_it_too(self, read):
        told = read("maxtok")

        assert told.main.has_turn_ended
        assert told.stop_reason() == "max_tokens"

    def test_an_interrupt_is_a_cancelled_turn(self, read):
        told = read("no-events")

        assert told.main.has_turn_ended
        assert told.stop_reason() == "cancelled"

    def test_a_killed_agent_leaves_a_call_without_an_answer(self, read):
        told = read("killed")

        assert told.messages()[-1] == "tool_use: "
        assert not told.main.has_turn_ended

    def test_a_call_to_a_tool_does_not_end_it(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Look")
        opencode.tool(
            opencode.message(
                "msg_2", "assistant", finish="tool-calls", time={"completed": NOW}
            ),
            "prt_2",
            "completed",
            output="a",
        )

        assert not tell().main.has_turn_ended

    @pytest.mark.parametrize(("exit_code", "is_error"), [(0, False), (1, True)])
    def test_a_failed_command_is_known_by_its_exit_code(
        self, opencode: OpenCodeHome, tell, exit_code: int, *, is_error: bool
    ):
        opencode.session()
        opencode.message("msg_2", "assistant")
        told = {"output": "", "metadata": {"exit": exit_code}}
        opencode.tool("msg_2", "prt_2", "completed", **told)

        (result,) = [
            p.record for p in tell().records() if p.record.type == "tool_result"
        ]

        assert result.metadata.get("is_error", False) is is_error


class TestSubagents:
    def test_one_hangs_under_the_call_that_started_it(self, read):
        told = read("subagent")
        (child,) = told.subagents.values()
        (call,) = [p for p in told.records() if p.record.type == "tool_use"]

        assert child.spawn_call_id == call.record.tool_call_id
        assert (child.agent_type, child.description) == ("general", "count")
        assert told.records(child)[3].record.metadata["origin"] == "task"

    def test_a_subagents_subagent_belongs_to_the_same_session(self, read):
        told = read("no-events")
        child, grandchild = told.subagents["ses_3f02b"], told.subagents["ses_3f03c"]
        units = assemble(
            RecordStream(told.main, told.records()),
            [RecordStream(s, told.records(s)) for s in (child, grandchild)],
        )

        assert list(told.mains) == ["ses_3f01a"]
        assert grandchild.parent_agent == "ses_3f02b"
        (shown,) = units[1].subagents
        assert [inner.summary.subagent_id for inner in shown.subagents] == ["ses_3f03c"]

    def test_sessions_that_are_each_others_parents_do_no_harm(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session("ses_a", parent="ses_b")
        opencode.session("ses_b", parent="ses_a")
        opencode.prompt("Hello", "msg_1", "ses_a")

        assert tell().rejected == []


class TestTheOlderTree:
    def test_a_talk_is_told_in_order(self, read):
        told = read("tree")

        assert told.messages()[:5] == [
            "user: How many wheels has the mill?\n\n[file text/plain wheels.txt]",
            "agent: A helper shall count them.",
            "tool_use: ",
            "tool_result: Three.",
            "agent: The mill has three wheels.",
        ]
        assert told.main.has_turn_ended

    def test_tokens_of_all_steps_count(self, read):
        assert read("tree").main.usage.input_tokens == 90

    def test_sessions_in_the_tree_and_the_database_are_the_same(
        self, home: Path, opencode: OpenCodeHome, tell
    ):
        copy_home(FIXTURES / "opencode" / "tree", home)
        before = len(tell().records())
        tree = opencode.folder / "storage"
        for kind in ("session", "message", "part"):
            for path in sorted(tree.glob(f"{kind}/*/*.json")):
                self.move(opencode, kind, path)

        told = tell()

        assert len(told.mains) == 1
        assert len(told.records()) == before

    def move(self, opencode: OpenCodeHome, kind: str, path: Path) -> None:
        """What OpenCode does with its tree when it first opens a database."""
        try:
            data = json.loads(path.read_text())
        except ValueError:
            return
        if kind == "session":
            opencode.session(
                data["id"], data["title"], data.get("parentID"), data["directory"]
            )
        elif kind == "message":
            info = {k: v for k, v in data.items() if k not in ("id", "sessionID")}
            role = info.pop("role")
            opencode.message(data["id"], role, data["sessionID"], **info)
        else:
            keys = ("id", "sessionID", "messageID", "type")
            info = {k: v for k, v in data.items() if k not in keys}
            session, message = data["sessionID"], data["messageID"]
            opencode.part(message, data["id"], data["type"], session, **info)


class TestManyProjectsInOneDatabase:
    def test_an_excluded_folder_leaves_the_others(self, opencode: OpenCodeHome, tell):
        opencode.session("ses_a", directory="/home/dev/open")
        opencode.prompt("Seen", "msg_1", "ses_a")
        opencode.session("ses_b", directory="/home/dev/secret")
        opencode.prompt("Unseen", "msg_2", "ses_b")

        told = tell(is_excluded=lambda cwd: cwd == "/home/dev/secret")

        assert list(told.mains) == ["ses_a"]
        assert b"Unseen" not in opencode.store_path.read_bytes()

    def test_a_message_of_an_unknown_folder_is_rejected_without_its_text(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session("ses_a", directory="/home/dev/open")
        opencode.prompt("Seen", "msg_1", "ses_a")
        opencode.session("ses_b", directory="")
        opencode.prompt("Unseen", "msg_2", "ses_b")

        told = tell(is_excluded=lambda cwd: cwd == "/home/dev/secret")

        assert list(told.mains) == ["ses_a"]
        assert "names no folder" in str(told.rejected)
        assert b"Unseen" not in opencode.store_path.read_bytes()

    def test_a_broken_part_costs_only_itself(self, opencode: OpenCodeHome, tell):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        opencode.db.execute("UPDATE part SET data = x'ff00' WHERE id = 'prt_msg_1'")

        told = tell()

        assert told.messages()[-1] == "agent: Hi"
        assert told.rejected == []

    def test_a_part_too_large_to_read_costs_only_itself(
        self, opencode: OpenCodeHome, tell
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.part("msg_1", "prt_x", "text", text="x" * 9_000_000)
        opencode.db.close()

        prompt, left_out = tell().messages()
        assert prompt == "user: Hello"
        assert left_out.startswith('unknown: {"type":"oversized","size":9000')

    def test_a_damaged_database_leaves_other_agents_alone(
        self, opencode: OpenCodeHome, claude: ClaudeHome
    ):
        opencode.db.close()
        (opencode.folder / "opencode.db").write_bytes(b"no database " * 500)
        claude.write(ClaudeLogBuilder().prompt("Hello"))

        done = opencode.sync()
        claude.sync()

        assert "cannot be read as SQLite" in next(iter(done.errors.values()))
        with StoreReader(claude.store_path) as reader:
            assert len(reader.list_sessions()) == 1

    def test_the_archive_asks_once_for_what_it_cannot_keep(
        self, opencode: OpenCodeHome, tmp_path: Path
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.sync()
        roots = tuple(ADAPTER.roots(make_environment(opencode.home), []))
        with Store(opencode.store_path, opencode.clock) as store:
            store.mark_all_stopped()
            keep = Archiver(
                store=store,
                archive_dir=tmp_path / "archive",
                roots={ADAPTER.name: roots},
                clock=opencode.clock,
            )
            done = keep.run()
            with store.archive() as archived:
                due = archived.list_due(2**62)

        assert (done.sources, done.errors, due) == (0, {}, [])
