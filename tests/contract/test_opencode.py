"""Test how OpenCode's database and files are decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.model.record import PlacedRecord
from leslied.model.session import SessionSummary
from leslied.model.source import Environment, WatchDepth
from leslied.pipeline.stages.archive import Archiver
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store import Store, StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.golden import FIXTURES, copy_home, make_environment, sync_home
from tests.support.opencode import ADAPTER, START_MS, OpenCodeHome


class OpenCodeStoreContents:
    """Contents of the store after a sync."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            sessions = reader.list_sessions()
            self.mains = {s.key.session_id: s for s in sessions if not s.is_subagent}
            self.subagents = {s.subagent_id: s for s in sessions if s.is_subagent}
            self._records = {s.key: list(reader.list_records(s.key)) for s in sessions}
            self.rejected = reader.list_rejected(99)

    @property
    def main(self) -> SessionSummary:
        (main,) = self.mains.values()
        return main

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main).key]

    def messages(self, session: SessionSummary | None = None) -> list[str]:
        """Return the author or record type, and the text, of all records but events."""
        names = {"user_message": "user", "assistant_message": "agent"}
        return [
            f"{names.get(p.record.type, p.record.type)}: {p.record.content}"
            for p in self.records(session)
            if p.record.type not in ("system_event", "token_usage")
        ]

    def stop_reason(self) -> str:
        """Return the stop reason of the main session's last unit."""
        units = assemble(RecordStream(self.main, self.records()), [])
        return units[-1].stop_reason


@pytest.fixture
def opencode(home: Path, tmp_path: Path, clock: FakeClock) -> OpenCodeHome:
    return OpenCodeHome(home, tmp_path / "store.db", clock)


@pytest.fixture
def read_store(opencode: OpenCodeHome):
    """Return a function that syncs the home and reads the store."""

    def sync_and_read(**options: Any) -> OpenCodeStoreContents:
        opencode.sync(**options)
        return OpenCodeStoreContents(opencode.store_path)

    return sync_and_read


@pytest.fixture
def read(home: Path, tmp_path: Path, clock: FakeClock):
    """Return a function that syncs a fixture case and reads the store."""

    def read_case(case: str) -> OpenCodeStoreContents:
        copy_home(FIXTURES / "opencode" / case, home)
        sync_home(ADAPTER, home, tmp_path / "case.db", clock)
        return OpenCodeStoreContents(tmp_path / "case.db")

    return read_case


class TestRoots:
    def test_roots_are_the_data_directory_and_the_json_tree(self, tmp_path: Path):
        database, tree = ADAPTER.roots(make_environment(tmp_path), [])

        assert database.path == tmp_path / ".local/share/opencode"
        assert database.watch is WatchDepth.FLAT
        assert tree.path == tmp_path / ".local/share/opencode/storage/session"
        assert tree.watch is WatchDepth.NONE

    def test_xdg_data_home_replaces_the_default(self, tmp_path: Path):
        environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
        env = Environment(home=tmp_path, environ=environ, platform="linux")

        assert next(iter(ADAPTER.roots(env, []))).path == tmp_path / "data/opencode"

    def test_a_configured_directory_replaces_the_default(self, tmp_path: Path):
        database, _ = ADAPTER.roots(make_environment(tmp_path), [tmp_path / "other"])

        assert database.path == tmp_path / "other"

    def test_a_session_is_resumed_by_its_id(self):
        assert ADAPTER.resume_command("ses_1") == "opencode --session ses_1"


class TestTurnInProgress:
    def test_text_is_stored_once_and_complete(self, opencode: OpenCodeHome, read_store):
        opencode.session()
        opencode.prompt("Hello")
        opencode.message("msg_2", "assistant")
        opencode.part("msg_2", "prt_2", "text", text="", time={"start": START_MS})
        before = read_store().messages()
        times = {"start": START_MS, "end": START_MS + 5}
        opencode.part("msg_2", "prt_2", "text", text="Hi there", time=times)

        assert before == ["user: Hello"]
        assert read_store().messages() == ["user: Hello", "agent: Hi there"]

    def test_a_complete_message_ends_the_turn(self, opencode: OpenCodeHome, read_store):
        opencode.session()
        opencode.prompt("Hello")
        before = read_store().main.has_turn_ended
        opencode.answer("Hi")

        contents = read_store()

        assert (before, contents.main.has_turn_ended) == (False, True)
        assert contents.stop_reason() == "end_turn"

    def test_the_next_prompt_starts_an_unfinished_unit(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        read_store()
        opencode.prompt("And now?", "msg_3")

        main = read_store().main

        assert (main.units, main.has_turn_ended) == (2, False)

    def test_a_call_is_stored_when_it_has_arguments(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.tool("msg_2", "prt_2", "pending", input={})
        pending = read_store().main.tool_calls
        opencode.tool("msg_2", "prt_2", "running", time={"start": START_MS})
        running = [
            p.record for p in read_store().records() if p.record.type == "tool_use"
        ]
        opencode.tool("msg_2", "prt_2", "completed", output="a.txt")

        assert pending == 0
        assert [r.tool_input for r in running] == ['{"command":"ls"}']
        assert read_store().messages()[-2:] == ["tool_use: ", "tool_result: a.txt"]

    def test_a_call_is_stored_after_the_text_before_it(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.part("msg_2", "prt_2", "text", text="", time={"start": START_MS})
        opencode.tool("msg_2", "prt_3", "running", time={"start": START_MS})
        read_store()
        times = {"start": START_MS, "end": START_MS + 5}
        opencode.part("msg_2", "prt_2", "text", text="I look.", time=times)

        assert read_store().messages() == ["user: Look", "agent: I look.", "tool_use: "]

    def test_the_tokens_of_a_rewritten_message_count_once(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        for _ in range(3):
            read_store()
            opencode.part("msg_2", "prt_x", "patch", files=[])

        usage = read_store().main.usage

        assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (
            5,
            2,
            1,
        )

    def test_a_title_replaces_the_first_prompt(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        before = read_store().main.title
        opencode.session(title="A greeting")
        first_title = read_store().main.title
        opencode.session(title="The greeting")

        assert (before, first_title, read_store().main.title) == (
            "Hello",
            "A greeting",
            "The greeting",
        )

    def test_a_late_change_of_a_prompt_does_not_move_it(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.message("msg_1", "user")
        read_store()
        opencode.part("msg_1", "prt_1", "text", text="Hello")
        opencode.answer("Hi")
        opencode.message("msg_1", "user", summary={"diffs": []})

        assert read_store().messages() == ["user: Hello", "agent: Hi"]


class TestDatabaseWithoutEvents:
    @pytest.fixture
    def opencode(self, home: Path, tmp_path: Path, clock: FakeClock) -> OpenCodeHome:
        return OpenCodeHome(home, tmp_path / "store.db", clock, has_events=False)

    def test_updated_rows_are_read_again(self, opencode: OpenCodeHome, read_store):
        opencode.session()
        opencode.prompt("Look")
        opencode.message("msg_2", "assistant")
        opencode.tool("msg_2", "prt_2", "running", time={"start": START_MS})
        read_store()
        opencode.tool("msg_2", "prt_2", "completed", output="a.txt")
        read_store()
        opencode.answer("One file.", "msg_3")
        opencode.session(title="Files")

        contents = read_store()

        assert contents.messages() == [
            "user: Look",
            "tool_use: ",
            "tool_result: a.txt",
            "agent: One file.",
        ]
        assert (contents.main.title, contents.main.has_turn_ended) == ("Files", True)

    def test_an_event_table_that_is_added_later_is_used(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        read_store()
        opencode.db.execute(
            "CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, "
            "type text, data text)"
        )
        opencode.has_events = True
        opencode.answer("Hi")

        assert read_store().messages() == ["user: Hello", "agent: Hi"]


class TestDeletedRows:
    def test_an_undone_prompt_stays_in_the_store(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("First", "msg_1")
        opencode.prompt("Undone", "msg_2")
        read_store()
        opencode.db.execute("DELETE FROM message WHERE id = 'msg_2'")
        opencode.db.execute("DELETE FROM part WHERE message_id = 'msg_2'")
        opencode.prompt("Instead", "msg_3")

        assert read_store().messages() == [
            "user: First",
            "user: Undone",
            "user: Instead",
        ]

    def test_renumbered_rows_are_not_stored_twice(
        self, opencode: OpenCodeHome, read_store
    ):
        for number in range(4):
            opencode.session(f"ses_{number}")
            opencode.prompt("Hello", f"msg_{number}", f"ses_{number}")
        read_store()
        for table in ("session", "message", "part"):
            column = "id" if table == "session" else "session_id"
            opencode.db.execute(f"DELETE FROM {table} WHERE {column} = 'ses_0'")
        opencode.db.execute("DELETE FROM event")
        opencode.db.execute("VACUUM")
        opencode.session("ses_5")
        opencode.prompt("New", "msg_5", "ses_5")

        contents = read_store()

        assert sorted(contents.mains) == ["ses_0", "ses_1", "ses_2", "ses_3", "ses_5"]
        assert all(len(contents.messages(s)) == 1 for s in contents.mains.values())


class TestAuthorship:
    def test_text_that_the_client_adds_is_not_a_prompt(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Read it")
        opencode.part("msg_1", "prt_x", "text", text="(file)", synthetic=True)
        opencode.part("msg_1", "prt_y", "text", text="(note)", ignored=True)

        contents = read_store()

        assert contents.messages() == ["user: Read it"]
        assert contents.main.units == 1

    def test_files_are_placeholders_in_the_prompt(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("See")
        url = "data:image/png;base64," + "A" * 4000
        opencode.part("msg_1", "prt_x", "file", mime="image/png", url=url)

        assert read_store().messages() == ["user: See\n\n[file image/png, 3 KB]"]

    @pytest.mark.parametrize(
        ("database_text", "prompt"),
        [
            ('"say hi"', "say hi"),
            ('"say \\"hi\\" twice"', 'say "hi" twice'),
            ('"hi"', '"hi"'),
            ('"say hi" and "go on"', '"say hi" and "go on"'),
            ("say hi", "say hi"),
        ],
    )
    def test_quotes_that_opencode_run_adds_are_removed(
        self, opencode: OpenCodeHome, read_store, database_text: str, prompt: str
    ):
        opencode.session()
        opencode.prompt(database_text)

        assert read_store().messages() == [f"user: {prompt}"]

    def test_a_prompt_in_plan_mode_has_the_mode(self, read):
        prompts = [p.record for p in read("no-events").records() if p.record.content]

        assert prompts[0].metadata["permission_mode"] == "plan"


class TestTurnEnd:
    def test_an_error_ends_the_turn(self, read):
        contents = read("error")

        assert contents.messages()[-1] == "error: APIError 400: scripted bad request"
        assert contents.main.has_turn_ended
        assert contents.stop_reason() == "error"

    def test_a_truncated_answer_ends_the_turn(self, read):
        contents = read("maxtok")

        assert contents.main.has_turn_ended
        assert contents.stop_reason() == "max_tokens"

    def test_an_interrupt_cancels_the_turn(self, read):
        contents = read("no-events")

        assert contents.main.has_turn_ended
        assert contents.stop_reason() == "cancelled"

    def test_a_killed_agent_leaves_an_unanswered_call(self, read):
        contents = read("killed")

        assert contents.messages()[-1] == "tool_use: "
        assert not contents.main.has_turn_ended

    def test_a_tool_call_does_not_end_the_turn(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Look")
        opencode.tool(
            opencode.message(
                "msg_2", "assistant", finish="tool-calls", time={"completed": START_MS}
            ),
            "prt_2",
            "completed",
            output="a",
        )

        assert not read_store().main.has_turn_ended

    @pytest.mark.parametrize(
        ("exit_code", "is_error", "content"),
        [(0, False, "out"), (1, True, "Exit code 1\nout"), (None, False, "out")],
    )
    def test_a_nonzero_exit_code_is_an_error(
        self,
        opencode: OpenCodeHome,
        read_store,
        exit_code: int | None,
        content: str,
        *,
        is_error: bool,
    ):
        opencode.session()
        opencode.message("msg_2", "assistant")
        fields = {"output": "out", "metadata": {"exit": exit_code}}
        opencode.tool("msg_2", "prt_2", "completed", **fields)

        (result,) = [
            p.record for p in read_store().records() if p.record.type == "tool_result"
        ]

        assert result.metadata.get("is_error", False) is is_error
        assert result.content == content


class TestSubagents:
    def test_a_subagent_is_linked_to_the_call_that_started_it(self, read):
        contents = read("subagent")
        (child,) = contents.subagents.values()
        (call,) = [p for p in contents.records() if p.record.type == "tool_use"]

        assert child.spawn_call_id == call.record.tool_call_id
        assert (child.agent_type, child.description) == ("general", "count")

    def test_the_first_prompt_of_a_subagent_is_its_task(self, read):
        contents = read("subagent")
        (child,) = contents.subagents.values()

        prompts = [
            p.record for p in contents.records(child) if p.record.type == "user_message"
        ]
        assert prompts[0].metadata["origin"] == "task"

    def test_a_nested_subagent_belongs_to_the_same_session(self, read):
        contents = read("no-events")
        child, grandchild = (
            contents.subagents["ses_3f02b"],
            contents.subagents["ses_3f03c"],
        )
        units = assemble(
            RecordStream(contents.main, contents.records()),
            [RecordStream(s, contents.records(s)) for s in (child, grandchild)],
        )

        assert list(contents.mains) == ["ses_3f01a"]
        assert grandchild.parent_agent == "ses_3f02b"
        (child_unit,) = units[1].subagents
        nested_ids = [unit.summary.subagent_id for unit in child_unit.subagents]
        assert nested_ids == ["ses_3f03c"]

    def test_sessions_that_are_each_others_parents_are_read(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session("ses_a", parent="ses_b")
        opencode.session("ses_b", parent="ses_a")
        opencode.prompt("Hello", "msg_1", "ses_a")

        assert read_store().rejected == []


class TestJsonTree:
    def test_messages_are_in_order(self, read):
        contents = read("tree")

        assert contents.messages()[:5] == [
            "user: How many wheels has the mill?\n\n[file text/plain wheels.txt]",
            "agent: A helper shall count them.",
            "tool_use: ",
            "tool_result: Three.",
            "agent: The mill has three wheels.",
        ]
        assert contents.main.has_turn_ended

    def test_the_tokens_of_all_steps_count(self, read):
        assert read("tree").main.usage.input_tokens == 90

    def test_a_session_in_the_tree_and_the_database_is_stored_once(
        self, home: Path, opencode: OpenCodeHome, read_store
    ):
        copy_home(FIXTURES / "opencode" / "tree", home)
        before = len(read_store().records())
        tree = opencode.folder / "storage"
        for kind in ("session", "message", "part"):
            for path in sorted(tree.glob(f"{kind}/*/*.json")):
                self.import_file(opencode, kind, path)

        contents = read_store()

        assert len(contents.mains) == 1
        assert len(contents.records()) == before

    def import_file(self, opencode: OpenCodeHome, kind: str, path: Path) -> None:
        """Import a file of the tree into the database, as OpenCode does."""
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


class TestDatabaseOfManyProjects:
    def test_an_excluded_directory_does_not_affect_others(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session("ses_a", directory="/home/dev/open")
        opencode.prompt("Seen", "msg_1", "ses_a")
        opencode.session("ses_b", directory="/home/dev/secret")
        opencode.prompt("Unseen", "msg_2", "ses_b")

        contents = read_store(is_excluded=lambda cwd: cwd == "/home/dev/secret")

        assert list(contents.mains) == ["ses_a"]
        assert b"Unseen" not in opencode.store_path.read_bytes()

    def test_a_message_without_a_directory_is_rejected_without_its_text(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session("ses_a", directory="/home/dev/open")
        opencode.prompt("Seen", "msg_1", "ses_a")
        opencode.session("ses_b", directory="")
        opencode.prompt("Unseen", "msg_2", "ses_b")

        contents = read_store(is_excluded=lambda cwd: cwd == "/home/dev/secret")

        assert list(contents.mains) == ["ses_a"]
        assert "names no folder" in str(contents.rejected)
        assert b"Unseen" not in opencode.store_path.read_bytes()

    def test_a_damaged_part_does_not_affect_others(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.answer("Hi")
        opencode.db.execute("UPDATE part SET data = x'ff00' WHERE id = 'prt_msg_1'")

        contents = read_store()

        assert contents.messages()[-1] == "agent: Hi"
        assert contents.rejected == []

    def test_a_part_that_is_too_large_does_not_affect_others(
        self, opencode: OpenCodeHome, read_store
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.part("msg_1", "prt_x", "text", text="x" * 9_000_000)
        opencode.db.close()

        prompt, replacement = read_store().messages()
        assert prompt == "user: Hello"
        assert replacement.startswith('unknown: {"type":"oversized","size":9000')

    def test_a_damaged_database_does_not_affect_other_agents(
        self, opencode: OpenCodeHome, claude: ClaudeHome
    ):
        opencode.db.close()
        (opencode.folder / "opencode.db").write_bytes(b"no database " * 500)
        claude.write(ClaudeLogBuilder().prompt("Hello"))

        report = opencode.sync()
        claude.sync()

        assert "cannot be read as SQLite" in next(iter(report.unreadable.values()))
        with StoreReader(claude.store_path) as reader:
            assert len(reader.list_sessions()) == 1

    def test_a_database_is_due_for_the_archive_only_once(
        self, opencode: OpenCodeHome, tmp_path: Path
    ):
        opencode.session()
        opencode.prompt("Hello")
        opencode.sync()
        roots = tuple(ADAPTER.roots(make_environment(opencode.home), []))
        with Store(opencode.store_path, opencode.clock) as store:
            store.mark_all_stopped()
            archiver = Archiver(
                store=store,
                archive_dir=tmp_path / "archive",
                roots={ADAPTER.name: roots},
                clock=opencode.clock,
            )
            report = archiver.run()
            with store.archive() as ledger:
                due = ledger.list_due(2**62)

        assert (report.sources, report.errors, due) == (0, {}, [])
