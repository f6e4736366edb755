"""A filter selects the same sessions in every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from leslied.cli import leslied
from leslied.cli.filters import filter_options
from leslied.errors import UserError
from leslied.model.record import SessionKey, Usage
from leslied.queries.value_parsers import SESSION_FILTER_KEYS
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_chunk,
    make_event,
    make_prompt,
    make_record,
)

SESSIONS = {
    "aaaaaaaa-1": ("claude-code", "/src/app"),
    "bbbbbbbb-2": ("claude-code", "/src/app/web"),
    "cccccccc-3": ("codex", "/home/dev/App"),
    "dddddddd-4": ("codex", "/src/apple"),
    "eeeeeeee-5": ("qwen-code", ""),
}
"""Agent and folder by session id. Each session is active a day after the one before."""

Invoke = Callable[..., Result]
ListIds = Callable[[Invoke, list[str], str], list[str]]
"""Function that lists session ids, selected by options or by a search query."""


def commit_session(
    harness: StoreHarness, key: SessionKey, folder: str, day: int
) -> None:
    common = {"session": key, "created_at": datetime(2026, 1, day, 12, tzinfo=UTC)}
    name = f"{key.session_id}{key.source}"
    chunk = make_chunk(
        make_event(
            "context", f"e{name}", metadata={"cwd": folder} if folder else {}, **common
        ),
        make_prompt("hello", f"p{name}", **common),
        make_record(
            "hello you",
            f"r{name}",
            model=f"model-{day % 2}",
            usage=Usage(output_tokens=10),
            message_id=name,
            **common,
        ),
        log=name,
    )
    source = structs.replace(chunk.source, agent=key.agent)
    harness.store.commit([replace(chunk, source=source)])


@pytest.fixture
def invoke(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Return a function that runs leslied on a store with five sessions.

    They belong to three agents; one has a subagent in another folder.
    """
    folder = tmp_path / "data"
    monkeypatch.setenv("LESLIED_DATA_DIR", str(folder))
    with StoreHarness(folder / "store.db", clock) as harness:
        for day, (session_id, (agent, cwd)) in enumerate(SESSIONS.items(), 1):
            commit_session(harness, SessionKey(agent, session_id), cwd, day)
        subagent = SessionKey("claude-code", "aaaaaaaa-1", "subagent:f6")
        commit_session(harness, subagent, "/elsewhere", 1)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(leslied, arguments, catch_exceptions=False)

    return invoke


def ids_in_list(invoke: Invoke, options: list[str], _: str) -> list[str]:
    output = json.loads(invoke("list", "--json", *options).stdout)
    return [session["id"] for session in output["data"]["sessions"]]


def ids_in_search(invoke: Invoke, _: list[str], query: str) -> list[str]:
    output = json.loads(invoke("search", "--json", "-n", "99", "hello", query).stdout)
    return [hit["session_id"] for hit in output["data"]["hits"]]


def ids_in_stats(invoke: Invoke, options: list[str], _: str) -> list[str]:
    output = json.loads(invoke("stats", "--by", "session", "--json", *options).stdout)
    return [row["session"] for row in output["data"]["rows"]]


def ids_in_prune(invoke: Invoke, options: list[str], _: str) -> list[str]:
    output = json.loads(invoke("prune", "--keep", "0", "--json", *options).stdout)
    return [session["id"] for session in output["data"]["sessions"]]


def ids_in_export(invoke: Invoke, options: list[str], _: str) -> list[str]:
    with TemporaryDirectory() as folder:
        arguments = ("export", "--all", "-f", "jsonl", "-o", f"{folder}/", "--json")
        output = json.loads(invoke(*arguments, *options).stdout)
        files = [Path(file["path"]) for file in output["data"]["files"]]
        lines = [line for file in files for line in file.read_text().splitlines()]
    return [
        session_id for line in lines for session_id in SESSIONS if session_id in line
    ]


def ids_in_follow(invoke: Invoke, options: list[str], _: str) -> list[str]:
    lines = invoke("follow", "--once", "--json", *options).stdout.splitlines()
    return [json.loads(line)["session_id"] for line in lines]


ALL_COMMANDS = [
    ids_in_list,
    ids_in_search,
    ids_in_stats,
    ids_in_prune,
    ids_in_export,
    ids_in_follow,
]


@pytest.mark.parametrize("list_ids", ALL_COMMANDS)
@pytest.mark.parametrize(
    ("options", "query", "first_letters"),
    [
        ("--agent codex", "agent:codex", "cd"),
        ("--agent gemini-cli", "agent:gemini-cli", ""),
        ("--project app", "project:app", "ac"),
        ("--project APP", "project:APP", "ac"),
        ("--project ap_", "project:ap_", ""),
        ("--project nowhere", "project:nowhere", ""),
        ("--project /src", "project:/src", "abd"),
        ("--project /src/app/", "project:/src/app/", "ab"),
        ("--project /src/app/web", "project:/src/app/web", "b"),
        ("--project /elsewhere", "project:/elsewhere", ""),
        ("--project /", "project:/", "abcde"),
        ("--agent codex --project app", "agent:codex project:app", "c"),
    ],
)
def test_agent_and_project_filters_select_the_same_sessions_in_every_command(
    invoke: Invoke, list_ids: ListIds, options: str, query: str, first_letters: str
):
    ids = list_ids(invoke, options.split(), query)

    assert {session_id[0] for session_id in ids} == set(first_letters)


@pytest.mark.parametrize("list_ids", [ids_in_list, ids_in_search, ids_in_export])
@pytest.mark.parametrize(
    ("options", "query", "first_letters"),
    [
        ("--since 2026-01-04", "after:2026-01-04", "de"),
        ("--until 2026-01-02", "before:2026-01-03", "ab"),
        ("--model L-0", "model:model-0", "bd"),
        ("--status stopped", "status:stopped", "abcde"),
        ("--status active", "status:active", ""),
    ],
)
def test_other_filters_select_the_same_sessions_in_commands_that_have_them(
    invoke: Invoke, list_ids: ListIds, options: str, query: str, first_letters: str
):
    ids = list_ids(invoke, options.split(), query)

    assert {session_id[0] for session_id in ids} == set(first_letters)


@pytest.mark.parametrize("list_ids", ALL_COMMANDS)
def test_an_unknown_agent_gives_the_same_error_in_every_command(
    invoke: Invoke, list_ids: ListIds
):
    with pytest.raises(UserError) as caught:
        list_ids(invoke, ["--agent", "codx"], "agent:codx")

    assert caught.value.message == "There is no agent 'codx'."
    assert caught.value.hint == "Agents with sessions: claude-code, codex, qwen-code"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("stats",),
        ("export", "--all", "-f", "json", "-o", "out/"),
    ],
)
def test_filters_without_a_match_are_reported(
    invoke: Invoke,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments, "--project", "nowhere")

    assert result.exit_code == 0
    assert result.stdout == "No session matches these filters.\n"


def test_filters_cannot_be_combined_with_an_id(invoke: Invoke):
    with pytest.raises(UserError, match="Filters cannot be combined with an ID"):
        invoke("export", "last", "-f", "json", "--project", "app")


@pytest.mark.parametrize("option", ["--agent", "--project"])
@pytest.mark.parametrize("list_ids", [ids_in_list, ids_in_prune, ids_in_follow])
def test_an_empty_filter_value_is_an_error(
    invoke: Invoke, list_ids: ListIds, option: str
):
    with pytest.raises(UserError, match=f"{option} needs a value."):
        list_ids(invoke, [option, ""], "")


def test_every_filter_option_is_a_filter_of_sessions():
    command = filter_options(click.command()(lambda **_: None))

    assert {option.name for option in command.params} == set(SESSION_FILTER_KEYS)
