"""`leslied init` on the command line."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.guide import load_guide
from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e

GUIDE = load_guide()
USER_TEXT = "# Mine\n\nUse tabs.\n"


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "work"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def agents_md(project: Path) -> Path:
    return project / "AGENTS.md"


@pytest.fixture
def leslied(home: Path, project: Path) -> LesliedRunner:
    return LesliedRunner(home, project)


def make_text_with_guide(version: str) -> str:
    """Return a file with the user's text and a guide of this version."""
    guide = re.sub(r"\d+\.\d+\.\d+", version, GUIDE.text.decode(), count=1)
    return f"{USER_TEXT}\n{guide}"


def run_init_with_answer(leslied: LesliedRunner, answer: str) -> tuple[int, str]:
    """Run `leslied init` on a terminal, answer its question, return code and output."""
    master, slave = pty.openpty()
    try:
        os.write(master, f"{answer}\n".encode())
        result = subprocess.run(
            [sys.executable, "-m", "leslied", "init"],
            env=leslied.environ,
            cwd=leslied.cwd,
            stdin=slave,
            capture_output=True,
            check=False,
            timeout=MAX_WAIT_SECONDS,
            text=True,
        )
    finally:
        os.close(master)
        os.close(slave)
    return result.returncode, result.stdout + result.stderr


def test_init_creates_agents_md_with_the_guide(leslied: LesliedRunner, agents_md: Path):
    result = leslied("init")

    assert result.out.startswith("Created ~/work/AGENTS.md with version ")
    assert agents_md.read_bytes() == GUIDE.text + b"\n"


def test_json_output_has_status_and_versions(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(USER_TEXT)

    result = leslied("init", "--json").json

    assert result["data"] == {
        "file": str(agents_md),
        "status": "appended",
        "previous_version": None,
        "next_version": GUIDE.version,
    }


def test_a_second_init_does_not_write_the_file(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(USER_TEXT)
    leslied("init")
    before = agents_md.stat()

    result = leslied("init", "--json").json["data"]

    after = agents_md.stat()
    assert result["status"] == "unchanged"
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_an_error_with_its_reason(
    leslied: LesliedRunner, project: Path
):
    project.chmod(0o500)

    result = leslied("init")

    assert result.code == 2
    assert "AGENTS.md cannot be written: Permission denied." in result.err


def test_remove_restores_the_original_file(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_bytes(b"\xef\xbb\xbf# Mine\r\n\xff no newline")
    before = agents_md.read_bytes()
    leslied("init")

    result = leslied("init", "--remove", "--json").json["data"]

    assert (result["status"], result["previous_version"]) == ("removed", GUIDE.version)
    assert agents_md.read_bytes() == before


def test_remove_deletes_a_file_that_init_created(
    leslied: LesliedRunner, agents_md: Path
):
    leslied("init")

    result = leslied("init", "--remove")

    assert result.out == "Deleted ~/work/AGENTS.md, which contained only the guide.\n"
    assert not agents_md.exists()


def test_a_minor_update_is_applied_and_reported(
    leslied: LesliedRunner, agents_md: Path
):
    major = GUIDE.version.partition(".")[0]
    agents_md.write_text(make_text_with_guide(f"{major}.0.0"))

    result = leslied("init")

    assert f"from version {major}.0.0 to {GUIDE.version}" in result.out
    assert agents_md.read_text() == USER_TEXT + "\n" + GUIDE.text.decode()


@pytest.mark.parametrize("version", ["1.0.0", "latest"])
def test_a_major_update_without_a_terminal_requires_yes(
    leslied: LesliedRunner, agents_md: Path, version: str
):
    agents_md.write_text(make_text_with_guide(version))

    result = leslied("init")

    assert (result.code, result.out) == (2, "")
    assert f"is version {version}; replacing it" in result.err
    assert "Confirm with: leslied init --yes" in result.err
    assert agents_md.read_text() == make_text_with_guide(version)


def test_yes_applies_a_major_update(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(make_text_with_guide("1.0.0"))

    result = leslied("init", "--yes", "--json").json["data"]

    assert (result["status"], result["previous_version"]) == ("updated", "1.0.0")
    assert agents_md.read_text() == USER_TEXT + "\n" + GUIDE.text.decode()


def test_answering_no_changes_nothing(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(make_text_with_guide("1.0.0"))

    code, output = run_init_with_answer(leslied, "n")

    assert code == 0
    assert f"Replace it with {GUIDE.version}? [y/N]" in output
    assert "Nothing was changed" in output
    assert agents_md.read_text() == make_text_with_guide("1.0.0")


def test_answering_yes_updates_the_guide(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(make_text_with_guide("1.0.0"))

    code, output = run_init_with_answer(leslied, "y")

    assert code == 0
    assert "from version 1.0.0" in output
    assert agents_md.read_text() == USER_TEXT + "\n" + GUIDE.text.decode()


def test_a_downgrade_is_refused_even_with_yes(leslied: LesliedRunner, agents_md: Path):
    agents_md.write_text(make_text_with_guide("99.0.0"))

    result = leslied("init", "--yes")

    assert result.code == 2
    assert "has version 99.0.0, but this leslied has" in result.err
    assert agents_md.read_text() == make_text_with_guide("99.0.0")


def test_a_guide_without_an_end_is_reported_with_its_line_number(
    leslied: LesliedRunner, agents_md: Path
):
    agents_md.write_text(USER_TEXT + '<leslie_system_guide version="1.0.0">\nwords\n')
    before = agents_md.read_bytes()

    result = leslied("init", "--remove")

    assert result.code == 2
    assert "AGENTS.md: A guide starts on line 4 but has no end" in result.err
    assert agents_md.read_bytes() == before


@pytest.mark.parametrize("args", [(), ("--remove",)])
def test_diff_shows_the_change_and_writes_nothing(
    leslied: LesliedRunner, agents_md: Path, args: tuple[str, ...]
):
    agents_md.write_text(make_text_with_guide("1.0.0") + "\n")
    before = agents_md.stat()

    result = leslied("init", "--diff", *args)

    after = agents_md.stat()
    assert result.code == 0
    assert result.out.startswith("--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ ")
    assert '\n-<leslie_system_guide version="1.0.0"' in result.out
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diff_of_a_new_file_starts_from_dev_null(
    leslied: LesliedRunner, agents_md: Path
):
    data = leslied("init", "--diff", "--json").json["data"]

    assert data["status"] == "created"
    assert data["diff"].startswith("--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1,")
    assert not agents_md.exists()


def test_diff_creates_no_files_and_redacts_secrets(
    leslied: LesliedRunner, home: Path, agents_md: Path
):
    agents_md.write_text("key: ghp_" + "a1B2" * 9 + "\n")

    output = leslied("init", "--diff").out

    assert "\n key: " in output
    assert "ghp_a1B2" not in output
    assert [*home.iterdir()] == [agents_md.parent]


@pytest.mark.usefixtures("agents_md")
def test_diff_reports_that_nothing_would_change(leslied: LesliedRunner):
    leslied("init")

    assert leslied("init", "--diff").out == "Nothing would change.\n"


def test_init_in_a_subdirectory_writes_to_the_repository_root(
    home: Path, project: Path, agents_md: Path
):
    subdirectory = project / "src" / "deep"
    subdirectory.mkdir(parents=True)

    LesliedRunner(home, subdirectory)("init")

    assert agents_md.exists()
    assert not (subdirectory / "AGENTS.md").exists()


def test_init_outside_a_repository_writes_to_the_working_directory(home: Path):
    folder = home / "notes"
    folder.mkdir()

    LesliedRunner(home, folder)("init")

    assert (folder / "AGENTS.md").exists()


def test_init_refuses_the_home_directory(home: Path):
    result = LesliedRunner(home, home)("init")

    assert (result.code, [*home.glob("*.md")]) == (2, [])
    assert "is not a project" in result.err


def test_a_repository_in_the_home_directory_is_not_the_project(home: Path):
    (home / ".git").mkdir()
    folder = home / "notes"
    folder.mkdir()

    LesliedRunner(home, folder)("init")

    assert (folder / "AGENTS.md").exists()
    assert not (home / "AGENTS.md").exists()


def test_a_symlink_is_not_followed(
    leslied: LesliedRunner, project: Path, agents_md: Path
):
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    agents_md.write_text(USER_TEXT)

    result = leslied("init", "--file", "CLAUDE.md")

    assert result.code == 2
    assert "leslied init --file AGENTS.md" in result.err
    assert agents_md.read_text() == USER_TEXT


def test_the_hint_to_confirm_repeats_the_file_option(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text(make_text_with_guide("1.0.0"))

    result = leslied("init", "--file", "CLAUDE.md")

    assert "Confirm with: leslied init --file CLAUDE.md --yes" in result.err


def test_a_claude_md_that_hides_the_guide_causes_a_warning(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text("Use tabs.\n")

    assert (
        "Claude Code reads CLAUDE.md in this folder, not AGENTS.md"
        in leslied("init").err
    )


def test_a_claude_md_that_imports_the_guide_causes_no_warning(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text("@AGENTS.md\n")

    assert leslied("init").err == ""


@pytest.mark.usefixtures("project")
def test_a_new_claude_md_that_hides_agents_md_causes_a_warning(
    leslied: LesliedRunner, agents_md: Path
):
    agents_md.write_text(USER_TEXT)

    result = leslied("init", "--file", "CLAUDE.md", "--json").json

    assert result["data"]["status"] == "created"
    assert "add this line to CLAUDE.md: @AGENTS.md" in result["warnings"][0]
    assert agents_md.read_text() == USER_TEXT


def test_manual_edits_of_the_guide_are_reverted_with_a_warning(
    leslied: LesliedRunner, agents_md: Path
):
    leslied("init")
    agents_md.write_text(agents_md.read_text().replace("## Threads", "## My threads"))

    result = leslied("init")

    assert "had been edited" in result.err
    assert agents_md.read_bytes() == GUIDE.text + b"\n"


@pytest.mark.fault("D8")
@pytest.mark.parametrize("failpoint", ["guide.half", "guide.before"])
def test_a_crash_leaves_the_old_file(
    leslied: LesliedRunner, agents_md: Path, failpoint: str
):
    agents_md.write_text(USER_TEXT)

    leslied("init", LESLIED_CRASH_AT=failpoint)

    assert agents_md.read_text() == USER_TEXT


def test_temporary_files_of_a_crash_are_removed(leslied: LesliedRunner, project: Path):
    leslied("init", LESLIED_CRASH_AT="guide.half")
    assert [*project.glob(".*.leslied-new")]

    leslied("init")

    assert sorted(path.name for path in project.iterdir()) == [".git", "AGENTS.md"]
