"""`leslied init`, as a person or a script calls it."""

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
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e

GUIDE = load_guide()
MINE = "# Mine\n\nUse tabs.\n"


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "work"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def file(project: Path) -> Path:
    return project / "AGENTS.md"


@pytest.fixture
def leslied(home: Path, project: Path) -> LesliedRunner:
    return LesliedRunner(home, project)


def with_version(version: str) -> str:
    return MINE + "\n" + re.sub(r"\d+\.\d+\.\d+", version, GUIDE.text.decode(), count=1)


def run_init_with_answer(leslied: LesliedRunner, word: str) -> tuple[int, str]:
    """`leslied init` on a terminal, and what a person types there."""
    upper, lower = pty.openpty()
    try:
        os.write(upper, f"{word}\n".encode())
        done = subprocess.run(
            [sys.executable, "-m", "leslied", "init"],
            env=leslied.environ,
            cwd=leslied.cwd,
            stdin=lower,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            text=True,
        )
    finally:
        os.close(upper)
        os.close(lower)
    return done.returncode, done.stdout + done.stderr


def test_init_makes_the_file(leslied: LesliedRunner, file: Path):
    done = leslied("init")

    assert done.out.startswith("~/work/AGENTS.md is new, with the guide for agents")
    assert file.read_bytes() == GUIDE.text + b"\n"


def test_a_script_learns_status_and_versions(leslied: LesliedRunner, file: Path):
    file.write_text(MINE)

    done = leslied("init", "--json").json

    assert done["data"] == {
        "file": str(file),
        "status": "appended",
        "previous_version": None,
        "next_version": GUIDE.version,
    }


def test_init_twice_touches_nothing(leslied: LesliedRunner, file: Path):
    file.write_text(MINE)
    leslied("init")
    before = file.stat()

    done = leslied("init", "--json").json["data"]

    after = file.stat()
    assert done["status"] == "unchanged"
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_init_then_remove_gives_the_file_back(leslied: LesliedRunner, file: Path):
    file.write_bytes(b"\xef\xbb\xbf# Mine\r\n\xff no newline")
    before = file.read_bytes()
    leslied("init")

    done = leslied("init", "--remove", "--json").json["data"]

    assert (done["status"], done["previous_version"]) == ("removed", GUIDE.version)
    assert file.read_bytes() == before


def test_removing_what_init_made_removes_the_file(leslied: LesliedRunner, file: Path):
    leslied("init")

    done = leslied("init", "--remove")

    assert done.out == "~/work/AGENTS.md held nothing but the guide, and is gone.\n"
    assert not file.exists()


def test_a_minor_step_is_taken_with_a_notice(leslied: LesliedRunner, file: Path):
    major = GUIDE.version.partition(".")[0]
    file.write_text(with_version(f"{major}.0.0"))

    done = leslied("init")

    assert f"went from version {major}.0.0 to {GUIDE.version}" in done.out
    assert file.read_text() == MINE + "\n" + GUIDE.text.decode()


@pytest.mark.parametrize("version", ["1.0.0", "latest"])
def test_a_major_step_without_a_terminal_says_what_to_type(
    leslied: LesliedRunner, file: Path, version: str
):
    file.write_text(with_version(version))

    done = leslied("init")

    assert (done.code, done.out) == (2, "")
    assert f"is version {version}; replacing it" in done.err
    assert "To agree: leslied init --yes" in done.err
    assert file.read_text() == with_version(version)


def test_yes_takes_a_major_step(leslied: LesliedRunner, file: Path):
    file.write_text(with_version("1.0.0"))

    done = leslied("init", "--yes", "--json").json["data"]

    assert (done["status"], done["previous_version"]) == ("updated", "1.0.0")
    assert file.read_text() == MINE + "\n" + GUIDE.text.decode()


def test_a_person_may_say_no(leslied: LesliedRunner, file: Path):
    file.write_text(with_version("1.0.0"))

    code, said = run_init_with_answer(leslied, "n")

    assert code == 0
    assert f"Replace it with {GUIDE.version}? [y/N]" in said
    assert "Nothing was changed" in said
    assert file.read_text() == with_version("1.0.0")


def test_a_person_may_say_yes(leslied: LesliedRunner, file: Path):
    file.write_text(with_version("1.0.0"))

    code, said = run_init_with_answer(leslied, "y")

    assert (code, "went from version 1.0.0" in said) == (0, True)
    assert file.read_text() == MINE + "\n" + GUIDE.text.decode()


def test_the_way_back_is_refused_even_with_yes(leslied: LesliedRunner, file: Path):
    file.write_text(with_version("99.0.0"))

    done = leslied("init", "--yes")

    assert done.code == 2
    assert "has version 99.0.0, this leslied brings" in done.err
    assert file.read_text() == with_version("99.0.0")


def test_a_broken_block_is_told_with_its_line(leslied: LesliedRunner, file: Path):
    file.write_text(MINE + '<leslie_system_guide version="1.0.0">\nwords\n')
    before = file.read_bytes()

    done = leslied("init", "--remove")

    assert done.code == 2
    assert "AGENTS.md: A guide starts on line 4 and has no end" in done.err
    assert file.read_bytes() == before


@pytest.mark.parametrize("words", [(), ("--remove",)])
def test_diff_shows_the_change_and_writes_nothing(
    leslied: LesliedRunner, file: Path, words: tuple[str, ...]
):
    file.write_text(with_version("1.0.0") + "\n")
    before = file.stat()

    done = leslied("init", "--diff", *words)

    after = file.stat()
    assert done.code == 0
    assert done.out.startswith("--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ ")
    assert '\n-<leslie_system_guide version="1.0.0"' in done.out
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diff_of_a_new_file_names_no_old_one(leslied: LesliedRunner, file: Path):
    shown = leslied("init", "--diff", "--json").json["data"]

    assert shown["status"] == "created"
    assert shown["diff"].startswith("--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1,")
    assert not file.exists()


def test_diff_leaves_nothing_anywhere_and_shows_no_secret(
    leslied: LesliedRunner, home: Path, file: Path
):
    file.write_text("key: ghp_" + "a1B2" * 9 + "\n")

    shown = leslied("init", "--diff").out

    assert "\n key: " in shown
    assert "ghp_a1B2" not in shown
    assert [*home.iterdir()] == [file.parent]


def test_diff_of_nothing_says_so(leslied: LesliedRunner, file: Path):
    leslied("init")

    assert leslied("init", "--diff").out == "Nothing would change.\n"


def test_from_a_folder_inside_the_top_one_is_meant(
    home: Path, project: Path, file: Path
):
    inside = project / "src" / "deep"
    inside.mkdir(parents=True)

    LesliedRunner(home, inside)("init")

    assert file.exists()
    assert not (inside / "AGENTS.md").exists()


def test_without_git_this_folder_is_meant(home: Path):
    folder = home / "notes"
    folder.mkdir()

    LesliedRunner(home, folder)("init")

    assert (folder / "AGENTS.md").exists()


def test_the_home_folder_is_no_project(home: Path):
    done = LesliedRunner(home, home)("init")

    assert (done.code, [*home.glob("*.md")]) == (2, [])
    assert "is no project" in done.err


def test_a_repository_around_the_whole_home_is_not_the_project(home: Path):
    (home / ".git").mkdir()
    folder = home / "notes"
    folder.mkdir()

    LesliedRunner(home, folder)("init")

    assert (folder / "AGENTS.md").exists()
    assert not (home / "AGENTS.md").exists()


def test_a_link_is_not_followed(leslied: LesliedRunner, project: Path, file: Path):
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    file.write_text(MINE)

    done = leslied("init", "--file", "CLAUDE.md")

    assert done.code == 2
    assert "leslied init --file AGENTS.md" in done.err
    assert file.read_text() == MINE


def test_another_file_is_named_in_what_to_type_next(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text(with_version("1.0.0"))

    done = leslied("init", "--file", "CLAUDE.md")

    assert "To agree: leslied init --file CLAUDE.md --yes" in done.err


def test_a_claude_md_that_hides_the_guide_is_told(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text("Use tabs.\n")

    assert "Claude Code reads CLAUDE.md here, not AGENTS.md" in leslied("init").err


def test_a_claude_md_that_shows_the_guide_is_well(
    leslied: LesliedRunner, project: Path
):
    (project / "CLAUDE.md").write_text("@AGENTS.md\n")

    assert leslied("init").err == ""


def test_a_new_claude_md_that_hides_agents_md_is_told(
    leslied: LesliedRunner, project: Path, file: Path
):
    file.write_text(MINE)

    done = leslied("init", "--file", "CLAUDE.md", "--json").json

    assert done["data"]["status"] == "created"
    assert "add this line to CLAUDE.md: @AGENTS.md" in done["warnings"][0]
    assert file.read_text() == MINE


def test_words_changed_by_hand_are_put_back_with_a_warning(
    leslied: LesliedRunner, file: Path
):
    leslied("init")
    file.write_text(file.read_text().replace("## Threads", "## My threads"))

    done = leslied("init")

    assert "had been changed by hand" in done.err
    assert file.read_bytes() == GUIDE.text + b"\n"


@pytest.mark.parametrize("point", ["guide.half", "guide.before"])
def test_a_kill_leaves_the_old_file(leslied: LesliedRunner, file: Path, point: str):
    """D8: the file is old or new, never half."""
    file.write_text(MINE)

    leslied("init", LESLIED_CRASH_AT=point)

    assert file.read_text() == MINE


def test_what_a_kill_left_is_swept_away(leslied: LesliedRunner, project: Path):
    leslied("init", LESLIED_CRASH_AT="guide.half")
    assert [*project.glob(".*.leslied-new")]

    leslied("init")

    assert sorted(path.name for path in project.iterdir()) == [".git", "AGENTS.md"]
