"""Create the skeleton of an adapter: `make new-agent NAME=foo`.

The skeleton passes all contract tests. Replace its example format, in the module, the
fixture and the format page, by the agent's real format.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LINES = (
    {"cwd": "/home/dev/app", "time": "2026-01-02T03:04:05Z"},
    {"id": "1", "role": "user", "text": "hello", "time": "2026-01-02T03:04:06Z"},
    {"id": "2", "role": "assistant", "text": "hi", "time": "2026-01-02T03:04:07Z"},
    {"id": "3", "role": "bell", "time": "2026-01-02T03:04:08Z"},
)
CASE = """\
version = "0"
source = "written by hand"
shows = "one turn, and a line of an unknown kind"
"""


def create_adapter(root: Path, name: str) -> list[Path]:
    """Create the adapter, its first fixture and its format page; return their paths."""
    module = name.replace("-", "_")
    title = name.replace("-", " ").title()
    values = {"name": name, "title": title, "kind": title.replace(" ", "")}
    case = root / "tests/fixtures/agents" / module / "hello"
    files = {
        root / "leslied/agents" / f"{module}.py": _render_template("agent.py", values),
        root / "docs/formats" / f"{name}.md": _render_template("format.md", values),
        case / "case.toml": CASE,
        case / "home" / f".{name}" / "sessions" / "one.jsonl": "".join(
            json.dumps(line) + "\n" for line in LINES
        ),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(files)


def _render_template(name: str, values: dict[str, str]) -> str:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8").format(**values)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"[a-z][a-z0-9-]*", sys.argv[1]):
        sys.exit("The agent's name must be lowercase: make new-agent NAME=foo")
    for path in create_adapter(ROOT, sys.argv[1]):
        print(path.relative_to(ROOT))
    print("Add a real session to the fixture, then run: make golden && make test")
