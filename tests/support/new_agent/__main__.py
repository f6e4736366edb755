"""Make the beginning of an adapter: `make new-agent NAME=foo`.

It passes every law as it is; what stands in the three files is then made true.
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
source = "made by hand"
shows = "one turn, and a line of a kind nobody knows"
"""


def create_adapter(root: Path, name: str) -> list[Path]:
    """The adapter, its first fixture and its format page; says where they are."""
    module = name.replace("-", "_")
    title = name.replace("-", " ").title()
    words = {"name": name, "title": title, "kind": title.replace(" ", "")}
    case = root / "tests/fixtures/agents" / module / "hello"
    made = {
        root / "leslied/agents" / f"{module}.py": _render_template("agent.py", words),
        root / "docs/formats" / f"{name}.md": _render_template("format.md", words),
        case / "case.toml": CASE,
        case / "home" / f".{name}" / "sessions" / "one.jsonl": "".join(
            json.dumps(line) + "\n" for line in LINES
        ),
    }
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(made)


def _render_template(name: str, words: dict[str, str]) -> str:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8").format(**words)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"[a-z][a-z0-9-]*", sys.argv[1]):
        sys.exit("Say the agent's name in small letters: make new-agent NAME=foo")
    for made in create_adapter(ROOT, sys.argv[1]):
        print(made.relative_to(ROOT))
    print("Now put a real session into the fixture, then: make golden && make test")
