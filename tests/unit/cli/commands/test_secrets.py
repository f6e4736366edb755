"""Tests of `leslied secrets`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.errors import ConfigError
from leslied.paths import get_paths, read_environ
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET, write_session


@pytest.fixture
def config_file(claude: ClaudeHome) -> Path:
    path = get_paths(read_environ()).config_file
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run(*args: str) -> str:
    runner = CliRunner(env={"COLUMNS": "200"})
    result = runner.invoke(leslied, args, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_places_are_grouped_by_kind_with_their_count(claude: ClaudeHome):
    write_session(claude)
    run("sync")

    lines = run("secrets", "scan").splitlines()

    assert lines[0] == "github: 3 places, definite"
    assert lines[1].split() == [
        *("WHEN", "SESSION", "ENTRY", "FIELD", "MARKER", "TRANSCRIPT")
    ]
    assert lines[-1] == "3 places with secrets."


def test_the_secret_is_never_printed(claude: ClaudeHome):
    write_session(claude)
    run("sync")

    assert SECRET not in run("secrets", "scan") + run("secrets", "scan", "--json")


def test_a_secret_of_an_entry_names_the_transcript_of_its_unit(claude: ClaudeHome):
    write_session(claude)
    run("sync", "--stop-all")

    secrets = json.loads(run("secrets", "scan", "--json"))["data"]["secrets"]

    (path,) = {s["transcript"] for s in secrets if s["entry_id"]}
    assert "[REDACTED:github:" in Path(path).read_text()


def test_a_list_that_was_cut_says_so(claude: ClaudeHome):
    write_session(claude)
    run("sync")

    lines = run("secrets", "scan", "-n", "1").splitlines()

    assert lines[-1] == "Only the newest 1 are shown. Show more with: -n 10"


def test_a_store_without_secrets_says_so(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder("clean").prompt("one"), name="-app/clean.jsonl")
    run("sync")

    assert run("secrets", "scan") == "No secrets found.\n"
    assert run("secrets", "scan", "--since", "today") == "No secrets found.\n"


def test_the_settings_apply_to_transcripts_lists_exports_and_sql(
    claude: ClaudeHome, config_file: Path
):
    config_file.write_text(
        '[redact.rules]\nacme = { pattern = "ACME-[0-9]{8}", anchors = ["ACME-"] }\n'
    )
    builder = ClaudeLogBuilder("acme")
    claude.write(
        builder.prompt("use ACME-20314857"),
        builder.answer("It is ACME-20314857."),
        name="-app/acme.jsonl",
    )
    run("sync", "--stop-all")
    (path,) = {
        secret["transcript"]
        for secret in json.loads(run("secrets", "scan", "--json"))["data"]["secrets"]
        if secret["entry_id"]
    }
    commands = (
        *("list", "show last", "search use", "export last -f json"),
        "sql 'SELECT title FROM sessions'",
    )
    outputs = [Path(path).read_text(), *(run(*shlex.split(c)) for c in commands)]

    assert [("ACME-2" in o, "[REDACTED:acme:" in o) for o in outputs] == [
        (False, True)
    ] * len(outputs)


def test_invalid_settings_of_redaction_stop_a_command(
    claude: ClaudeHome, config_file: Path
):
    write_session(claude)
    run("sync")
    config_file.write_text("[redact]\nallow = ['(']\n")

    with pytest.raises(ConfigError, match=r"redact\.allow: the pattern is invalid"):
        run("list")
