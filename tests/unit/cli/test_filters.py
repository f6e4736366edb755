"""Whatever command is asked, a filter means the same sessions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner, Result

from leslied.cli import leslied
from leslied.errors import UserError
from leslied.model.record import SessionKey, Usage
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_chunk,
    make_event,
    make_prompt,
    make_record,
)

FOLDERS = {
    "aaaaaaaa-1": ("claude-code", "/src/app"),
    "bbbbbbbb-2": ("claude-code", "/src/app/web"),
    "cccccccc-3": ("codex", "/home/dev/App"),
    "dddddddd-4": ("codex", "/src/apple"),
    "eeeeeeee-5": ("qwen-code", ""),
}
"""The first was active on the first of January, the second a day later."""

Ask = Callable[..., Result]


def commit_session(shelf: StoreHarness, key: SessionKey, folder: str, day: int) -> None:
    when = {"session": key, "created_at": datetime(2026, 1, day, 12, tzinfo=UTC)}
    name = f"{key.session_id}{key.source}"
    reading = make_chunk(
        make_event(
            "context", f"e{name}", metadata={"cwd": folder} if folder else {}, **when
        ),
        make_prompt("hello", f"p{name}", **when),
        make_record(
            "hello you",
            f"r{name}",
            model=f"model-{day % 2}",
            usage=Usage(output_tokens=10),
            message_id=name,
            **when,
        ),
        log=name,
    )
    source = replace(reading.source, agent=key.agent)
    shelf.store.commit([replace(reading, source=source)])


@pytest.fixture
def ask(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Five sessions of three agents, one with a subagent in a folder elsewhere."""
    folder = tmp_path / "data"
    monkeypatch.setenv("LESLIED_DATA_DIR", str(folder))
    with StoreHarness(folder / "store.db", clock) as shelf:
        for day, (name, (agent, where)) in enumerate(FOLDERS.items(), 1):
            commit_session(shelf, SessionKey(agent, name), where, day)
        below = SessionKey("claude-code", "aaaaaaaa-1", "subagent:f6")
        commit_session(shelf, below, "/elsewhere", 1)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(leslied, words, catch_exceptions=False)

    return invoke


def ids_in_list(ask: Ask, options: list[str], _: str) -> list[str]:
    told = json.loads(ask("list", "--json", *options).stdout)
    return [each["id"] for each in told["data"]["sessions"]]


def ids_in_search(ask: Ask, _: list[str], query: str) -> list[str]:
    told = json.loads(ask("search", "--json", "-n", "99", "hello", query).stdout)
    return [each["session_id"] for each in told["data"]["hits"]]


def ids_in_stats(ask: Ask, options: list[str], _: str) -> list[str]:
    told = json.loads(ask("stats", "--by", "session", "--json", *options).stdout)
    return [each["session"] for each in told["data"]["rows"]]


def ids_in_prune(ask: Ask, options: list[str], _: str) -> list[str]:
    told = json.loads(ask("prune", "--keep", "0", "--json", *options).stdout)
    return [each["id"] for each in told["data"]["sessions"]]


def ids_in_export(ask: Ask, options: list[str], _: str) -> list[str]:
    with TemporaryDirectory() as out:
        words = ("export", "--all", "-f", "jsonl", "-o", f"{out}/", "--json")
        told = json.loads(ask(*words, *options).stdout)
        files = [Path(each["path"]) for each in told["data"]["files"]]
        lines = [line for file in files for line in file.read_text().splitlines()]
    return [each for line in lines for each in FOLDERS if each in line]


def ids_in_follow(ask: Ask, options: list[str], _: str) -> list[str]:
    lines = ask("follow", "--once", "--json", *options).stdout.splitlines()
    return [json.loads(line)["session_id"] for line in lines]


EVERYWHERE = [
    ids_in_list,
    ids_in_search,
    ids_in_stats,
    ids_in_prune,
    ids_in_export,
    ids_in_follow,
]


@pytest.mark.parametrize("find", EVERYWHERE)
@pytest.mark.parametrize(
    ("options", "query", "wanted"),
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
def test_agent_and_project_mean_the_same_everywhere(
    ask: Ask, find: Callable[..., list[str]], options: str, query: str, wanted: str
):
    found = find(ask, options.split(), query)

    assert {each[0] for each in found} == set(wanted)


@pytest.mark.parametrize("find", [ids_in_list, ids_in_search, ids_in_export])
@pytest.mark.parametrize(
    ("options", "query", "wanted"),
    [
        ("--since 2026-01-04", "after:2026-01-04", "de"),
        ("--until 2026-01-02", "before:2026-01-03", "ab"),
        ("--model L-0", "model:model-0", "bd"),
        ("--status stopped", "status:stopped", "abcde"),
        ("--status active", "status:active", ""),
    ],
)
def test_the_other_filters_mean_the_same_wherever_they_can_be_asked(
    ask: Ask, find: Callable[..., list[str]], options: str, query: str, wanted: str
):
    found = find(ask, options.split(), query)

    assert {each[0] for each in found} == set(wanted)


@pytest.mark.parametrize("find", EVERYWHERE)
def test_an_unknown_agent_is_one_sentence_everywhere(
    ask: Ask, find: Callable[..., list[str]]
):
    with pytest.raises(UserError) as caught:
        find(ask, ["--agent", "codx"], "agent:codx")

    assert caught.value.message == "Nothing is known of an agent 'codx'."
    assert caught.value.hint == "Those with sessions: claude-code, codex, qwen-code"


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("stats",),
        ("export", "--all", "-f", "json", "-o", "out/"),
    ],
)
def test_where_nothing_is_like_that_people_are_told(
    ask: Ask, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    told = ask(*words, "--project", "nowhere")

    assert told.exit_code == 0
    assert told.stdout == "No session is like that.\n"


def test_filters_choose_among_all_sessions_not_in_one(ask: Ask):
    with pytest.raises(UserError, match="An ID needs no filters"):
        ask("export", "last", "-f", "json", "--project", "app")


@pytest.mark.parametrize("name", ["--agent", "--project"])
@pytest.mark.parametrize("find", [ids_in_list, ids_in_prune, ids_in_follow])
def test_an_empty_name_does_not_mean_everybody(
    ask: Ask, find: Callable[..., list[str]], name: str
):
    with pytest.raises(UserError, match=f"{name} says nothing."):
        find(ask, [name, ""], "")
