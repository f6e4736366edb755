"""A project with a thread that has a plan and progress, and its fork."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET

THREAD = f"thread-{SESSION[:8]}"
FORK_SESSION = "22222222-2222-4333-8444-555555555555"
FORK = f"thread-{FORK_SESSION[:8]}"
PLAN = f".leslie/threads/{THREAD}/plan.md"
PLAN_TEXT = f"# The plan\n\n- [x] read\n- [ ] write with {SECRET}\n\n<b>bold</b>\n"
PROGRESS_TEXT = "# Progress\n\n- [x] read\n- [ ] write\n"


def write_thread_home(claude: ClaudeHome, plan: str = PLAN_TEXT) -> Path:
    """Write the project and the logs; return the project's folder."""
    project = claude.home / "app"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    config = claude.home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[output]\nbackfill = "project"\n')
    (claude.home / "config.toml").write_text(config.read_text())
    folder = project / Path(PLAN).parent
    folder.mkdir(parents=True)
    (project / PLAN).write_text(plan)
    (folder / "progress.md").write_text(PROGRESS_TEXT)
    _write_logs(claude, project, plan)
    return project


def _write_logs(claude: ClaudeHome, project: Path, plan: str) -> None:
    builder = ClaudeLogBuilder(cwd=str(project))
    write = {"file_path": str(project / PLAN), "content": plan}
    lines = [
        builder.prompt("make a plan"),
        builder.call("Write", write, "c1"),
        builder.result("c1", "ok"),
        builder.answer("Done."),
    ]
    claude.write(*lines, builder.prompt("go on"), builder.answer("Done."))
    fork = ClaudeLogBuilder(FORK_SESSION, str(project))
    # Skip nine seconds, so that the fork's own lines are newer than the copied ones.
    for _ in range(9):
        fork.line("x")
    copies = [{**line, "sessionId": FORK_SESSION} for line in lines]
    claude.write(
        *copies,
        fork.prompt("do it another way"),
        fork.answer("ok"),
        name=f"-home-dev-app/{FORK_SESSION}.jsonl",
    )
