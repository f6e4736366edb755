"""Test which sessions leslied reads, as far as hooks know."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.hooks import learned_roots, scope
from tests.support.hooks import HookedSession

LOG = "/h/.claude/projects/-app/1.jsonl"
ELSEWHERE = "/elsewhere/projects/-app/1.jsonl"


@pytest.fixture
def data(tmp_path: Path) -> str:
    scope.save(str(tmp_path), ["/h/.claude/projects"], ["/secret/*"])
    return str(tmp_path)


def test_everything_counts_as_read_before_the_first_run(tmp_path: Path):
    assert scope.is_log_included(str(tmp_path), ELSEWHERE, "/app")


@pytest.mark.parametrize("log", [LOG, ELSEWHERE, ""])
def test_a_log_is_read_if_its_folder_is_known_or_can_be_learned(data: str, log: str):
    assert scope.is_log_included(data, log, "/app")


@pytest.mark.parametrize("log", ["/x/1.jsonl", "/x/.leslie/projects/-app/1.jsonl"])
def test_a_log_whose_folder_cannot_be_learned_is_not_read(data: str, log: str):
    assert not scope.is_log_included(data, log, "/app")


def test_leslieds_own_files_are_not_read(data: str):
    assert not scope.is_log_included(data, f"{data}/projects/-app/1.jsonl", "/app")


def test_an_ignored_folder_is_not_read(data: str):
    (Path(data) / learned_roots.FILE).write_text("!/elsewhere\n")

    assert not scope.is_log_included(data, ELSEWHERE, "/app")


def test_an_excluded_project_is_not_read(data: str):
    assert not scope.is_log_included(data, LOG, "/secret/app")


def test_nothing_is_read_if_the_agent_is_disabled(tmp_path: Path):
    scope.save(str(tmp_path), [], [])

    assert not scope.is_log_included(str(tmp_path), LOG, "/app")


def test_an_unchanged_scope_is_not_written_again(data: str):
    file = Path(data) / "hooks" / "scope"
    before = file.stat().st_ino

    scope.save(data, ["/h/.claude/projects"], ["/secret/*"])

    assert file.stat().st_ino == before


def test_hooks_inject_no_context_into_a_session_that_is_not_read(tmp_path: Path):
    session = HookedSession(tmp_path)
    session.add_asset("plan.md")
    scope.save(str(session.data), ["/h/.claude/projects"], [])

    assert session.call_hook("SessionStart", source="startup") == ""
    assert session.prompt() == ""
