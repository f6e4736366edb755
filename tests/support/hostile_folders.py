"""Working directories that a log may name to make leslied write elsewhere."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

SESSION = "{:08x}-2222-4333-8444-555555555555"
"""Id of the session in the folder with this number; its thread has the same digits."""


@dataclass
class HostileTree:
    """A home with projects that are not what they seem, and a victim outside."""

    home: Path
    victim: Path
    own_projects: list[Path] = field(default_factory=list)
    """Projects of the user, in which `.leslie` is hostile; it may be written to."""

    def list_folders(self) -> list[str]:
        """Create everything; return the working directories."""
        folders = [*_SYSTEM, *_NOT_PATHS]
        folders += self._make_home_paths()
        folders += self._make_refused_projects()
        folders += self._make_git_tricks()
        folders += map(str, self._make_output_tricks(len(folders)))
        return folders

    def make_project(self, name: str) -> Path:
        project = self.home / name
        (project / ".git").mkdir(parents=True)
        return project

    def generate(self, count: int) -> list[str]:
        """Return generated working directories, the same ones every time."""
        generator = random.Random(14)
        starts = [str(self.home), str(self.victim), "/", "", "//", "~", "/proc/self"]
        entries = [path.name for path in self.home.iterdir()]
        pieces = [*entries, *entries, *_PIECES]
        return [
            "/".join([generator.choice(starts), *generator.choices(pieces, k=length)])
            for length in generator.choices(range(1, 6), k=count)
        ]

    def _make_home_paths(self) -> list[str]:
        (self.home / "file").touch()
        home = str(self.home)
        return [
            *(home, f"{home}/", f"/{home}", f"{home}/app/..", f"{home}/app/../../x"),
            *(f"{home}/./..", f"{home}/gone", f"{home}/file", f"{home}/file/x"),
            *(f"{home}/a\0b", f"{home}/\udcff", f"{home}/\ud800", f"{home}/x\n"),
            *(f"{home}/" + "a" * 256, f"{home}/" + "a" * 5000, f"{home}" + "/a" * 3000),
            *(f"{home}/..%2f..%2fetc", f"{home}/\u202egit", f"{home}/-rf", "/\u200b"),
        ]

    def _make_refused_projects(self) -> list[str]:
        names = (".claude", ".claude/projects/p", ".codex/sessions", ".gemini/tmp/p")
        own = (".local/share/leslied", ".local/share/leslied/central/x")
        state = ".local/state/leslied"
        reserved = [self.make_project(name) for name in (*names, *own, state)]
        for name, mode in (("open", 0o777), ("sticky", 0o1777)):
            reserved.append(self.make_project(name))
            reserved[-1].chmod(mode)
        if os.getuid() == 0:
            reserved.append(self.make_project("foreign"))
            os.chown(reserved[-1], 12345, 12345)
        for name, target in (
            ("to-app", self.home / "app"),
            ("to-victim", self.victim),
            ("to-etc", Path("/etc")),
            ("to-root", Path("/")),
            ("loop", self.home / "loop"),
        ):
            (self.home / name).symlink_to(target)
        links = ["to-app", "to-victim", "to-victim/sub", "to-etc", "loop", "loop/app"]
        links += [f"to-root{self.home}/app", "to-app/../to-victim"]
        return [*map(str, reserved), *(f"{self.home}/{name}" for name in links)]

    def _make_git_tricks(self) -> list[str]:
        folders = [self.home / f"git-{number}" for number in range(4)]
        for folder in folders:
            folder.mkdir()
            self.own_projects.append(folder)
        (folders[0] / ".git").write_text("gitdir: /etc\n")
        (folders[1] / ".git").write_text(f"gitdir: {self.victim}/.git/worktrees/x\n")
        (folders[2] / ".git").symlink_to(self.victim / ".git")
        os.mkfifo(folders[3] / ".git")
        return list(map(str, folders))

    def _make_output_tricks(self, number: int) -> list[Path]:
        """Return projects of the user in which a part of `.leslie` is hostile."""
        projects = []
        for link in _OUTPUTS:
            for kind in ("link", "pipe"):
                project = self.make_project(f"output-{number}")
                path = project / ".leslie" / link.format(f"thread-{number:08x}")
                path.parent.mkdir(parents=True, exist_ok=True)
                is_folder = "." not in path.name[1:]
                if kind == "link":
                    path.symlink_to(self.victim if is_folder else self.victim / "file")
                else:
                    os.mkfifo(path)
                projects.append(project)
                number += 1
        hard_link = self.make_project("output-hard-link")
        (hard_link / ".leslie").mkdir()
        for name in (".gitignore", ".leslied-new", "INDEX.md"):
            (hard_link / ".leslie" / name).hardlink_to(self.victim / "file")
        open_folder = self.make_project("output-open")
        (open_folder / ".leslie").mkdir()
        (open_folder / ".leslie").chmod(0o777)
        projects += [hard_link, open_folder]
        self.own_projects += projects
        return projects


_OUTPUTS = (
    *("", "threads", "threads/{}", "threads/{}/.meta", "threads/{}/.meta/transcripts"),
    *("threads/{}/.meta/assets.json", "threads/{}/.meta/transcripts/.leslied-new"),
    *(".gitignore", "INDEX.md", "index.json", ".leslied-new"),
    *("thread_relations.json", "thread_relations.json.bak"),
    "thread_relations.json.lock",
)
"""Entries of `.leslie` that are replaced by links and pipes; "" is the folder."""
_SYSTEM = (
    *("/", "/etc", "/usr", "/var/log", "/tmp", "/var/tmp", "/dev", "/dev/fd", "/sys"),
    *("/proc/self", "/proc/self/cwd", "/proc/self/root", "/run", "/boot", "/home"),
)
_NOT_PATHS = ("", " ", ".", "..", "~", "~/app", "$HOME/app", "relative", "\0", "C:\\x")
_PIECES = (
    *("..", ".", "", "app", ".git", ".leslie", "sub", "a\0b", "\ud800", "\udcff"),
    *("\u202e", "x ", "x.", "CON", "-rf", "*", "$(id)", "a" * 255, "\n", "%2e%2e"),
)


def make_hostile_tree(home: Path, victim: Path) -> HostileTree:
    """Return a tree whose victim is a project of the user, too."""
    (victim / ".git" / "worktrees" / "x").mkdir(parents=True)
    (victim / "sub").mkdir()
    (victim / "file").write_text("precious")
    tree = HostileTree(home, victim)
    tree.make_project("app")
    return tree
