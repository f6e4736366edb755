"""`leslied secrets clean` replaces secrets in files that are older than a rule."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S1", "S3")]

SECRET = "ACME-" + "k3Y9" * 6
RULE = (
    '[redact.rules.acme-key]\npattern = "ACME-[A-Za-z0-9]{24}"\nanchors = ["ACME-"]\n'
)


@pytest.fixture
def config(home: Path) -> Path:
    path = home / ".config/leslied/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[output]\nformats = ["markdown", "weakincentives"]\n')
    return path


@pytest.fixture
def leslied(
    home: Path, config: Path, claude: ClaudeHome, project: Path
) -> LesliedRunner:
    """Write files with a secret, and add its rule afterwards."""
    runner = LesliedRunner(home)
    assert runner("sync").code == 0
    log = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    long_text = "x" * 185 + SECRET  # The limit of a result cuts the secret.
    claude.write(
        log.prompt(f"Please use {SECRET} now"),
        log.call("Task", {"prompt": "go", "description": SECRET}, "toolu_1"),
        log.result("toolu_1", long_text, toolUseResult={"agentId": "a1"}),
        log.answer(f"I used {SECRET}."),
    )
    sub = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(
        sub.prompt(f"go {SECRET}", isSidechain=True, agentId="a1"),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )
    assert runner("sync", "--stop-all").code == 0
    config.write_text(config.read_text() + RULE)
    return runner


def read_all(base: Path) -> str:
    """Return the text of every file that leslied wrote."""
    paths = (base / ".leslie").rglob("*")
    return "".join(path.read_text() for path in paths if path.is_file())


def test_a_dry_run_lists_files_and_kinds_but_no_secret(
    leslied: LesliedRunner, project: Path
):
    before = read_all(project)

    text, data = leslied("secrets", "clean"), leslied("secrets", "clean", "--json")

    result = data.json["data"]
    names = {Path(file["path"]).name for file in result["files"]}
    assert {"INDEX.md", "index.json", "assets.json", "thread_relations.json"} <= names
    assert sum(name.endswith(".txt") for name in names) == 2
    assert all(set(file["kinds"]) == {"acme-key"} for file in result["files"])
    assert not result["done"]
    assert "leslied secrets clean --yes" in text.out
    assert SECRET not in text.out + data.out
    assert read_all(project) == before


def test_cleaning_removes_secrets_from_files(leslied: LesliedRunner, project: Path):
    assert SECRET in read_all(project)

    result = leslied("secrets", "clean", "--yes", "--json")

    data = result.json["data"]
    text = read_all(project)
    assert data["done"]
    assert data["rendered"] == 2
    assert SECRET not in text
    # A limit had cut the secret in two, and no rule matches its first part; it is gone
    # because the transcript was rendered again.
    assert SECRET[:10] not in text
    assert leslied("secrets", "clean", "--json").json["data"]["count"] == 0
    # The relations file was cleaned in place and is still valid.
    relations = (project / ".leslie/thread_relations.json").read_text()
    assert json.loads(relations)["threads"]


def test_files_of_a_session_that_is_gone_are_redacted_in_place(
    leslied: LesliedRunner, project: Path, home: Path
):
    shutil.rmtree(home / ".claude")
    shutil.copytree(project / ".leslie", home / "copy")
    result = leslied("prune", "--keep", "0", "--failed", "--yes", "--json")
    assert result.json["success"], result.out
    central = home / ".local/share/leslied/central/app-12345678"
    shutil.copytree(home / "copy", central / ".leslie")

    data = leslied("secrets", "clean", "--yes", "--json").json["data"]

    assert data["rendered"] == 0
    assert SECRET in (home / "copy/INDEX.md").read_text()
    assert SECRET not in read_all(central)


def test_the_doctor_counts_the_files_and_names_the_command(leslied: LesliedRunner):
    findings = leslied("doctor", "--json").json["data"]["findings"]
    found = [f for f in findings if "with secrets" in f["what"]]
    leslied("secrets", "clean", "--yes")
    findings = leslied("doctor", "--json").json["data"]["findings"]

    assert [f["verdict"] for f in found] == ["warn"]
    assert "leslied secrets clean" in found[0]["hint"]
    assert not [f for f in findings if "with secrets" in f["what"]]


def test_nothing_is_changed_while_the_daemon_runs(
    leslied: LesliedRunner, project: Path
):
    daemon = leslied.start("run")
    try:
        wait_until(lambda: "is running" in leslied("doctor").out)
        result = leslied("secrets", "clean", "--yes")
    finally:
        daemon.terminate()
        daemon.wait()

    assert result.code == 4
    assert SECRET in read_all(project)


def test_a_link_in_the_threads_folder_is_not_followed(
    leslied: LesliedRunner, project: Path
):
    target = project / "secret.txt"
    target.write_text(SECRET)
    link = project / ".leslie/threads/thread-11111111/.meta/link.txt"
    link.symlink_to(target)

    leslied("secrets", "clean", "--yes")

    assert link.is_symlink()
    assert target.read_text() == SECRET
