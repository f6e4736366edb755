"""Tables and pages in the documentation that are made from the program: `make docs`."""

from __future__ import annotations

import re
from pathlib import Path

from leslied.agents import AgentAdapter, load_adapters
from leslied.model.source import Environment
from leslied.store import VIEWS
from tests.support.command_pages import make_pages, tell_commands

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "docs" / "commands"
COLUMNS = (
    "subagents",
    "tools",
    "thinking",
    "model",
    "tokens",
    "title",
    "folder",
    "turn end",
    "live",
)
_HOME = Path("/~")


def tell_agents() -> str:
    """Every agent: where it writes, and what its files can tell."""
    head = ("agent", "reads", *COLUMNS, "goes on with")
    rows = [head, ("---",) * len(head)]
    adapters = sorted(load_adapters().values(), key=lambda adapter: adapter.title)
    rows += [_tell_agent(adapter) for adapter in adapters]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _tell_agent(adapter: AgentAdapter) -> tuple[str, ...]:
    env = Environment(home=_HOME, environ={}, platform="linux")
    roots = [str(root.path).removeprefix("/") for root in adapter.roots(env, [])]
    command = adapter.resume_command("ID")
    return (
        f"[{adapter.title}](docs/formats/{adapter.name}.md)",
        ", ".join(f"`{root}`" for root in dict.fromkeys(roots)),
        *("✓" if name in adapter.capabilities else "" for name in COLUMNS),
        f"`{command}`" if command else "",
    )


def fill(text: str, name: str, made: str) -> str:
    """The text with what stands between the marks of this name made anew."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    return re.sub(marks, lambda m: m[1] + made + m[2], text, flags=re.DOTALL)


def fill_readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = fill(text, "commands", tell_commands("docs/commands/", "docs/"))
    return fill(text, "agents", tell_agents())


def write_pages() -> None:
    """Every command has its page, and no page is without a command."""
    COMMANDS.mkdir(exist_ok=True)
    pages = make_pages()
    for path in COMMANDS.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (COMMANDS / name).write_text(text, encoding="utf-8")


def tell_views() -> str:
    """Every view with its columns."""
    return "\n".join(
        f"### {view.name}\n\n{view.about}\n\n| column | holds |\n|---|---|\n"
        + "".join(f"| `{column.name}` | {column.about} |\n" for column in view.columns)
        for view in VIEWS
    )


def fill_sql() -> str:
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    return fill(text, "views", tell_views())


if __name__ == "__main__":
    (ROOT / "README.md").write_text(fill_readme(), encoding="utf-8")
    write_pages()
    (ROOT / "docs/sql.md").write_text(fill_sql(), encoding="utf-8")
