"""`leslied bundle`: complete, private, without secrets or conversation text."""

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
    """Sync a session with a secret and two invalid lines; the config has a secret."""
    leslied = LesliedRunner(home, cwd=home)
    builder = ClaudeLogBuilder(cwd=f"{home}/app")
    claude.write(builder.prompt(f"my words {KEY}"), "broken", builder.answer("Done."))
    with claude.log().open("a") as log:
        log.write("this is not an entry\n")
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[projects]\nexclude = ["{home}/{KEY}"]\n')
    leslied("sync", "--stop-all")
    return leslied


def unpack(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_manifest_has_the_checksum_of_every_file(leslied: LesliedRunner):
    result = leslied("bundle")

    path = leslied.home / "leslied-bundle.zip"
    files = unpack(path)
    checksums = json.loads(files.pop("manifest.json"))["sha256"]
    assert result.code == 0
    assert checksums == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
    }


def test_the_answer_names_every_file_of_the_bundle(leslied: LesliedRunner):
    names = leslied("bundle", "--json").json["data"]["files"]

    assert names == sorted(unpack(leslied.home / "leslied-bundle.zip"))


def test_only_the_user_can_read_the_bundle(leslied: LesliedRunner):
    leslied("bundle")

    path = leslied.home / "leslied-bundle.zip"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_bundle_has_the_reasons_of_rejected_lines(leslied: LesliedRunner):
    leslied("bundle")

    files = unpack(leslied.home / "leslied-bundle.zip")
    assert json.loads(files["status.json"])["store"]["rejected"] >= 1
    assert json.loads(files["rejected.json"])[0]["reason"]


def test_the_bundle_has_no_secret_no_home_path_and_no_conversation(
    leslied: LesliedRunner,
):
    leslied("bundle", "-o", "report.zip")

    text = "".join(unpack(leslied.home / "report.zip").values())

    assert KEY not in text
    assert str(leslied.home) not in text
    assert "my words" not in text
    assert "this is not an entry" not in text


def test_the_bundle_includes_a_session_on_request(leslied: LesliedRunner):
    leslied("bundle", "last", "-o", "report.zip")

    text = unpack(leslied.home / "report.zip")["session.json"]

    assert "my words [REDACTED:github:" in text
    assert str(leslied.home) not in text


def test_a_bundle_is_written_even_without_a_store(home: Path):
    result = LesliedRunner(home, cwd=home)("bundle", "--json")

    files = unpack(home / "leslied-bundle.zip")
    assert result.code == 0
    assert "error" in json.loads(files["status.json"])


def test_a_missing_output_directory_is_reported(leslied: LesliedRunner):
    result = leslied("bundle", "-o", "nowhere/report.zip")

    assert result.code == 2
    assert "mkdir -p" in result.err


# A sample of formats


def test_a_format_sample_has_structure_and_no_text(
    home: Path, claude: ClaudeHome, tmp_path: Path
):
    log = ClaudeLogBuilder()
    claude.write(log.prompt("my private words"), log.line("novelty", x="private, too"))
    leslied = LesliedRunner(home, cwd=tmp_path)
    leslied("sync")

    result = leslied("bundle", "--format-sample")
    data = leslied("bundle", "last", "--format-sample", "-o", "last.zip", "--json").json

    with zipfile.ZipFile(tmp_path / "leslied-format-sample.zip") as file:
        texts = "".join(file.read(name).decode() for name in file.namelist())
    assert result.code == 0, result.err
    assert "the structure of 1 entry" in result.out
    assert "Unknown kinds: novelty" in result.out
    assert "Nothing was sent." in result.out
    assert '"type": "novelty"' in texts
    assert "private" not in texts
    assert str(home) not in texts
    assert data["data"]["entries"] == 2
    assert data["data"]["unknown_kinds"] == ["novelty"]


def test_a_format_sample_works_without_a_store(home: Path, tmp_path: Path):
    path = tmp_path / "new.jsonl"
    path.write_text('{"type": "hello"}\n')

    leslied = LesliedRunner(home, cwd=tmp_path)
    result = leslied("bundle", "--format-sample", str(path))

    assert result.code == 0, result.err
    assert "from logs of no known agent" in result.out


@pytest.mark.parametrize("target", ["/dev/null", "/none", "nothing"])
def test_a_format_sample_of_nothing_is_an_error(
    home: Path, tmp_path: Path, target: str
):
    leslied = LesliedRunner(home, cwd=tmp_path)
    leslied("sync")

    result = leslied("bundle", "--format-sample", target)

    assert result.code == 2
    assert "Traceback" not in result.err
    assert not list(tmp_path.glob("*.zip"))
