"""Whatever a repository contains, `git add -A` takes nothing that leslied wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from leslied.layout import GITIGNORE_FILE, GITIGNORE_TEXT
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import CommandResult, LesliedRunner
from tests.support.git import git, make_repository

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S8")]

CANARY = "canaryprompt"
NEGATIONS = "!*\n!**\n!*/\n!/threads/*/.meta/\n!*.txt\n!/INDEX.md\n!/index.json\n"
RELATIONS = encode_relations(make_empty_relations()).decode()


Prepare = Callable[[Path], Path]


def with_tracked_files(**files: str) -> Prepare:
    """Return a function that makes a repository with these tracked files."""

    def prepare(folder: Path) -> Path:
        make_repository(folder)
        write_files(folder, files)
        git(folder, "add", "-A", "-f")
        git(folder, "commit", "-q", "-m", "files")
        return folder

    return prepare


def with_untracked_files(**files: str) -> Prepare:
    """Return a function that makes a repository with these untracked files."""

    def prepare(folder: Path) -> Path:
        make_repository(folder)
        write_files(folder, files)
        return folder

    return prepare


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def ship_link(folder: Path) -> Path:
    with_tracked_files(rules=NEGATIONS)(folder)
    (folder / ".leslie").mkdir()
    (folder / GITIGNORE_FILE).symlink_to("../rules")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "link")
    return folder


def make_user_rules(folder: Path) -> Path:
    make_repository(folder)
    rules = folder.parent / "rules"
    rules.write_text(NEGATIONS)
    git(folder, "config", "core.excludesFile", str(rules))
    return folder


def make_submodule(folder: Path) -> Path:
    source = with_tracked_files(**{GITIGNORE_FILE: NEGATIONS})(folder.parent / "source")
    make_repository(folder)
    git(folder, "submodule", "--quiet", "add", str(source), "module")
    return folder / "module"


def make_submodule_for_threads(folder: Path) -> Path:
    source = with_tracked_files(**{".gitignore": NEGATIONS})(folder.parent / "source")
    make_repository(folder)
    git(folder, "submodule", "--quiet", "add", str(source), ".leslie/threads")
    git(folder, "commit", "-q", "-m", "submodule")
    return folder


def make_submodule_for_all_files(folder: Path) -> Path:
    files = {".gitignore": NEGATIONS, "INDEX.md": "# Threads\n", "index.json": "{}\n"}
    source = with_tracked_files(**files)(folder.parent / "source")
    make_repository(folder)
    git(folder, "submodule", "--quiet", "add", str(source), ".leslie")
    git(folder, "commit", "-q", "-m", "submodule")
    return folder


def make_worktree(folder: Path) -> Path:
    with_tracked_files(**{GITIGNORE_FILE: NEGATIONS})(folder)
    worktree = folder.parent / "worktree"
    git(folder, "worktree", "add", "-q", str(worktree))
    return worktree


def make_worktree_of_bare_repository(folder: Path) -> Path:
    source = with_tracked_files(**{GITIGNORE_FILE: NEGATIONS})(folder)
    bare = folder.parent / "bare.git"
    git(folder, "clone", "-q", "--bare", str(source), str(bare))
    worktree = folder.parent / "worktree"
    git(bare, "worktree", "add", "-q", str(worktree))
    return worktree


def make_nested_repository(folder: Path) -> Path:
    with_tracked_files(**{".gitignore": "!*\n", "inner/.leslie/.gitignore": NEGATIONS})(
        folder
    )
    git(folder / "inner", "init", "-q")
    git(folder / "inner", "commit", "-q", "--allow-empty", "-m", "first")
    return folder / "inner"


def make_folder_that_looks_like_a_repository(folder: Path) -> Path:
    """Git takes files of a folder with an invalid `.git` as files of its parent."""
    with_tracked_files(**{".gitignore": "!*\n", "inner/.leslie/.gitignore": NEGATIONS})(
        folder
    )
    (folder / "inner/.git").mkdir()
    return folder / "inner"


def make_separate_git_directory(folder: Path) -> Path:
    with_tracked_files(**{GITIGNORE_FILE: NEGATIONS})(folder)
    git(folder, "init", "-q", f"--separate-git-dir={folder.parent / 'elsewhere'}")
    return folder


REPOSITORIES: dict[str, Prepare] = {
    "an ordinary one": with_untracked_files(),
    "rules of an older version": with_untracked_files(
        **{GITIGNORE_FILE: "/.gitignore\n/index.json\n/INDEX.md\n"}
    ),
    "rules of its own": with_tracked_files(**{GITIGNORE_FILE: "*.log\n"}),
    "negations": with_tracked_files(**{GITIGNORE_FILE: NEGATIONS}),
    "untracked negations": with_untracked_files(**{GITIGNORE_FILE: NEGATIONS}),
    "negations after our rules": with_tracked_files(
        **{GITIGNORE_FILE: GITIGNORE_TEXT + NEGATIONS}
    ),
    "negations and no final newline": with_tracked_files(**{GITIGNORE_FILE: "!*"}),
    "rules separated by carriage returns": with_tracked_files(
        **{GITIGNORE_FILE: "!*\n#" + GITIGNORE_TEXT.replace("\n", "\r")}
    ),
    "negations for threads": with_tracked_files(
        **{".leslie/threads/.gitignore": NEGATIONS}
    ),
    "negations at the top": with_tracked_files(
        **{".gitignore": "!.leslie\n!.leslie/**\n!.meta/\n!*.txt\n"}
    ),
    "negations at every level": with_tracked_files(
        **{
            ".gitignore": "!*\n!.leslie/**\n",
            GITIGNORE_FILE: NEGATIONS,
            ".leslie/threads/.gitignore": NEGATIONS,
        }
    ),
    "negations in info/exclude": with_untracked_files(
        **{".git/info/exclude": NEGATIONS}
    ),
    "negations in core.excludesFile": make_user_rules,
    "attributes": with_tracked_files(
        **{".gitattributes": "* text eol=crlf -diff export-ignore\n"}
    ),
    "a link for its rules": ship_link,
    "a tracked page": with_tracked_files(**{".leslie/INDEX.md": "# Threads\n"}),
    "a tracked index": with_tracked_files(**{".leslie/index.json": "{}\n"}),
    "tracked relations": with_tracked_files(
        **{".leslie/thread_relations.json": RELATIONS}
    ),
    "a submodule": make_submodule,
    "a submodule for threads": make_submodule_for_threads,
    "a submodule for all files": make_submodule_for_all_files,
    "a linked working tree": make_worktree,
    "a working tree of a bare repository": make_worktree_of_bare_repository,
    "a nested repository": make_nested_repository,
    "no repository at all": make_folder_that_looks_like_a_repository,
    "a Git directory elsewhere": make_separate_git_directory,
}


def sync_session(claude: ClaudeHome, home: Path, project: Path) -> CommandResult:
    """Read a session that worked in the project."""
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(
        builder.prompt(f"{CANARY} in the title"), builder.answer("canaryanswer")
    )
    return LesliedRunner(home)("sync", "--stop-all")


def list_transcripts(project: Path) -> list[Path]:
    return list(project.glob(".leslie/threads/*/.meta/transcripts/*.txt"))


@pytest.mark.parametrize("name", REPOSITORIES)
def test_git_takes_no_text_of_a_session(name: str, claude: ClaudeHome, home: Path):
    project = REPOSITORIES[name](home / "app")
    git(project, "add", "-A", ":/")
    before = git(project, "status", "--porcelain", ":/")
    result = sync_session(claude, home, project)
    repositories = [project, project / ".leslie"]
    for folder in repositories:
        git(folder, "add", "-A")

    assert result.code == 0
    assert list_transcripts(project)
    assert git(project, "status", "--porcelain", ":/") == before
    for folder in repositories:
        assert "canary" not in git(folder, "diff", "--cached", "--text", "HEAD")


def test_rules_that_git_does_not_track_are_extended(claude: ClaudeHome, home: Path):
    project = with_untracked_files(**{GITIGNORE_FILE: "!*\n# mine\n*.log"})(
        home / "app"
    )
    sync_session(claude, home, project)

    expected = "!*\n# mine\n*.log\n" + GITIGNORE_TEXT
    assert (project / GITIGNORE_FILE).read_text() == expected
    assert (project / ".leslie/INDEX.md").exists()


def test_rules_that_git_tracks_stay_and_are_reported(claude: ClaudeHome, home: Path):
    project = with_tracked_files(**{GITIGNORE_FILE: "!*\n"})(home / "app")
    result = sync_session(claude, home, project)

    assert (project / GITIGNORE_FILE).read_text() == "!*\n"
    assert not (project / ".leslie/INDEX.md").exists()
    assert "which does not exclude .leslie/index.json" in result.err


def test_a_tracked_file_is_reported_and_not_written(claude: ClaudeHome, home: Path):
    project = REPOSITORIES["a tracked page"](home / "app")
    result = sync_session(claude, home, project)

    assert (project / ".leslie/INDEX.md").read_text() == "# Threads\n"
    assert ".leslie/INDEX.md is tracked by Git" in result.err


def test_rules_that_a_checkout_deleted_are_restored(claude: ClaudeHome, home: Path):
    project = make_repository(home / "app")
    git(project, "branch", "clean")
    git(project, "switch", "-q", "-c", "hostile")
    write_files(project, {GITIGNORE_FILE: "!*\n"})
    git(project, "add", "-A", "-f")
    git(project, "commit", "-q", "-m", "rules")
    git(project, "switch", "-q", "clean")
    sync_session(claude, home, project)
    git(project, "switch", "-q", "hostile")
    git(project, "switch", "-q", "clean")
    assert not (project / GITIGNORE_FILE).exists()

    LesliedRunner(home)("sync")
    git(project, "add", "-A")
    assert git(project, "status", "--porcelain") == ""
