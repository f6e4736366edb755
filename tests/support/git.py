"""Make Git repositories for tests with the real `git`."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SETTINGS = (
    "user.name=Ann",
    "user.email=ann@example.org",
    "init.defaultBranch=main",
    "commit.gpgSign=false",
    "protocol.file.allow=always",
)


def git(folder: Path, *args: str) -> str:
    """Run git in a folder and return its output."""
    options = [option for setting in _SETTINGS for option in ("-c", setting)]
    process = subprocess.run(
        ["git", "-C", str(folder), *options, *args],
        check=True,
        capture_output=True,
        text=True,
    )
    return process.stdout.strip()


def make_repository(folder: Path, commits: int = 2, remote: str = "") -> Path:
    """Create a repository with some commits and, if named, a remote."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        # The content differs, so that the first commits of two repositories do, too.
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{folder.name} {number}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def get_root_commit(folder: Path) -> str:
    """Return the first commit, as git itself finds it."""
    return git(folder, "rev-list", "--first-parent", "HEAD").split()[-1]
