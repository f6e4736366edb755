"""Draw the README's picture: three commands at a terminal, on scripted sessions.

    python -m tests.support.picture docs/images/terminal.svg

The sessions live in a temporary home. The picture shows what the commands really print.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tests.support.claude import ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.terminal import run_at_terminal

COLUMNS = 104
OLD_CODE = "if retries == 3:\n    raise TimeoutError\n"
NEW_CODE = "if retries >= limit:\n    raise TimeoutError(url)\n"
COMMANDS = [
    ("list",),
    ("search", "timeout", "tool:Bash"),
    ("show", "a1b2"),
]


def write_log(home: Path, builder: ClaudeLogBuilder, *lines: dict[str, Any]) -> None:
    """Write the lines as Claude Code would."""
    folder = home / ".claude" / "projects" / builder.cwd.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{builder.session_id}.jsonl").write_text(text)


def write_sessions(home: Path) -> None:
    """Write three sessions in two projects."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    mill, shop = home / "mill", home / "shop"
    for project in (mill, shop):
        (project / ".git").mkdir(parents=True)
    usage = {"input_tokens": 1840, "output_tokens": 620}

    fix = ClaudeLogBuilder(
        "a1b2c3d4-1111-4222-8333-444455556666", str(mill), now - timedelta(minutes=9)
    )
    write_log(
        home,
        fix,
        fix.prompt("Make the upload limit a setting."),
        fix.call("Bash", {"command": "pytest tests/test_upload.py"}, "t1", usage=usage),
        fix.result("t1", "E   TimeoutError\n1 failed, 6 passed in 0.41s"),
        fix.call(
            "Edit",
            {
                "file_path": str(mill / "upload.py"),
                "old_string": OLD_CODE,
                "new_string": NEW_CODE,
            },
            "t2",
        ),
        fix.result("t2", "ok"),
        fix.call("Bash", {"command": "pytest tests/test_upload.py"}, "t3"),
        fix.result("t3", "7 passed in 0.38s"),
        fix.answer(
            "The limit was fixed at **three** retries. It is a setting now:\n\n"
            "- `upload.retries` in `config.toml`, 3 by default\n"
            "- the error names the URL that timed out"
        ),
    )
    plan = ClaudeLogBuilder(
        "5e6f7a8b-1111-4222-8333-444455556666", str(shop), now - timedelta(hours=3)
    )
    write_log(
        home,
        plan,
        plan.prompt("Plan the new checkout."),
        plan.answer("Here is a plan in four steps.", usage=usage),
        plan.prompt("Write it to plan.md."),
        plan.call("Write", {"file_path": "plan.md", "content": "# Plan\n"}, "p1"),
        plan.result("p1", "ok"),
        plan.answer("Done."),
    )
    slow = ClaudeLogBuilder(
        "9c0d1e2f-1111-4222-8333-444455556666", str(mill), now - timedelta(days=2)
    )
    write_log(
        home,
        slow,
        slow.prompt("Why is the job slow?"),
        slow.call("Bash", {"command": "grep -c timeout job.log"}, "s1", usage=usage),
        slow.result("s1", "214"),
        slow.answer("The job waits for 214 timeouts of 30 seconds each."),
    )


def render(home: Path) -> str:
    """Run the commands and return the terminal as SVG."""
    leslied = LesliedRunner(home, cwd=home / "mill")
    leslied("sync", "--stop-all")
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    for command in COMMANDS:
        arguments = " ".join(command)
        console.print(Text.from_markup(f"[bold green]~/mill $[/] leslied {arguments}"))
        output = run_at_terminal(leslied, *command, columns=COLUMNS)
        text = output.strip("\n").replace(str(home), "~")
        console.print(Text.from_ansi(text), soft_wrap=True)
        console.print()
    # Use fonts of the reader's machine, because a picture must not load anything.
    svg_template = re.sub(
        r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL
    )
    svg_template = re.sub(r"Fira Code", "ui-monospace, Menlo, Consolas", svg_template)
    return console.export_svg(
        title="leslied", code_format=svg_template, unique_id="leslied"
    )


def main() -> None:
    """Write the picture to the path in the first argument."""
    with tempfile.TemporaryDirectory(prefix="leslied-picture-") as folder:
        home = Path(folder)
        write_sessions(home)
        Path(sys.argv[1]).write_text(render(home))


if __name__ == "__main__":
    main()
