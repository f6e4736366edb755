"""`leslied bundle`: whole, private, and without what nobody should send."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

KEY = "ghp_" + "A1b2" * 9


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    leslied = LesliedRunner(home, cwd=home)
    talk = ClaudeLogBuilder(cwd=f"{home}/app")
    claude.write(talk.prompt(f"my words {KEY}"), "broken", talk.answer("Done."))
    with claude.log().open("a") as log:
        log.write("this is no entry\n")
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[projects]\nexclude = ["{home}/{KEY}"]\n')
    leslied("sync", "--stop-all")
    return leslied


def unpack(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_every_file_in_it_is_proven(leslied: LesliedRunner):
    ran = leslied("bundle")

    path = leslied.home / "leslied-bundle.zip"
    files = unpack(path)
    sums = json.loads(files.pop("manifest.json"))["sha256"]
    assert ran.code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert sums == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
    }
    assert json.loads(files["status.json"])["store"]["rejected"] >= 1
    assert json.loads(files["rejected.json"])[0]["reason"]


def test_no_secret_no_home_and_no_talk_is_in_it(leslied: LesliedRunner):
    leslied("bundle", "-o", "report.zip")

    told = "".join(unpack(leslied.home / "report.zip").values())

    assert KEY not in told
    assert str(leslied.home) not in told
    assert "my words" not in told
    assert "this is no entry" not in told


def test_a_session_is_in_it_when_asked(leslied: LesliedRunner):
    leslied("bundle", "last", "-o", "report.zip")

    told = unpack(leslied.home / "report.zip")["session.json"]

    assert "my words [REDACTED:github:" in told
    assert str(leslied.home) not in told


def test_without_a_store_there_is_still_a_report(home: Path):
    ran = LesliedRunner(home, cwd=home)("bundle", "--json")

    files = unpack(home / "leslied-bundle.zip")
    assert ran.code == 0
    assert "error" in json.loads(files["status.json"])


def test_a_place_that_cannot_be_is_a_sentence(leslied: LesliedRunner):
    ran = leslied("bundle", "-o", "nowhere/report.zip")

    assert ran.code == 2
    assert "mkdir -p" in ran.err
