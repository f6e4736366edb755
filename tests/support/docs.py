"""Generate tables and pages of the documentation, and JSON Schemas: `make docs`."""

from __future__ import annotations

import json
from pathlib import Path

from leslied.agents import AgentAdapter, load_adapters
from leslied.model.schema import make_record_schema, make_session_schema
from leslied.model.source import Environment
from leslied.store import VIEWS
from leslied.web.endpoint import Endpoint, Param
from leslied.web.routes import ENDPOINTS
from tests.support import reliability, threats
from tests.support.command_pages import format_command_table, render_pages
from tests.support.doc_sections import replace_section

ROOT = Path(__file__).resolve().parents[2]
COMMANDS_DIR = ROOT / "docs" / "commands"
SCHEMAS_DIR = ROOT / "leslied" / "schemas"
CAPABILITY_HEADINGS = {
    "subagents": "subagents",
    "tools": "tools",
    "thinking": "thinking",
    "model": "model",
    "tokens": "tokens",
    "title": "title",
    "folder": "working directory",
    "turn end": "end of turn",
    "live": "processes",
}
_IMPORTED = "[imported](docs/import.md)"
_MAX_FOLDERS = 3
"""Number of log folders of an agent that the table shows, unless there are more."""
_HOME = Path("/~")
"""Home whose paths are shown as `~/…` once the leading slash is removed."""


def format_agent_table() -> str:
    """Format a table of agents: folders, versions, capabilities, resume commands."""
    head = (
        "agent",
        "log folders",
        "verified with",
        *CAPABILITY_HEADINGS.values(),
        "resume with",
    )
    rows = [head, ("---",) * len(head)]
    adapters = sorted(
        load_adapters().values(),
        key=lambda adapter: (not adapter.verified, adapter.title.lower()),
    )
    rows += [_format_agent_row(adapter) for adapter in adapters]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _format_agent_row(adapter: AgentAdapter) -> tuple[str, ...]:
    env = Environment(home=_HOME, environ={}, platform="linux")
    page = f"docs/formats/{adapter.name}.md"
    paths = [str(root.path).removeprefix("/") for root in adapter.roots(env, [])]
    if adapter.project_log:
        log = adapter.project_log
        where = "in each project in which another agent had a session"
        paths.append(f"{log}` {where}, and in the folders of the setting `roots")
    roots = [f"`{path}`" for path in dict.fromkeys(paths)]
    if len(roots) > _MAX_FOLDERS:
        roots = [roots[0], f"[{len(roots) - 1} more]({page})"]
    command = adapter.resume_command("ID")
    return (
        f"[{adapter.title}]({page})",
        ", ".join(roots) or _IMPORTED,
        adapter.verified or "documents only",
        *("✓" if name in adapter.capabilities else "" for name in CAPABILITY_HEADINGS),
        f"`{command}`" if command else "",
    )


def render_readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = replace_section(
        text, "commands", format_command_table("docs/commands/", "docs/")
    )
    return replace_section(text, "agents", format_agent_table())


def write_pages() -> None:
    """Write a page per command; delete pages of commands that no longer exist."""
    COMMANDS_DIR.mkdir(exist_ok=True)
    pages = render_pages()
    for path in COMMANDS_DIR.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (COMMANDS_DIR / name).write_text(text, encoding="utf-8")


def format_views() -> str:
    """Format every SQL view with its columns."""
    return "\n".join(
        f"### {view.name}\n\n{view.about}\n\n| column | contains |\n|---|---|\n"
        + "".join(f"| `{column.name}` | {column.about} |\n" for column in view.columns)
        for view in VIEWS
    )


def render_sql_page() -> str:
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    return replace_section(text, "views", format_views())


def format_endpoints() -> str:
    """Format every endpoint of the JSON API with its parameters."""
    return "\n".join(map(_format_endpoint, ENDPOINTS))


def _format_endpoint(endpoint: Endpoint) -> str:
    lines = [f"### {endpoint.method} /api{endpoint.path}", "", endpoint.about, ""]
    if endpoint.media_type != "application/json":
        lines += [f"The answer is `{endpoint.media_type}`.", ""]
    else:
        names = ", ".join(f"`{name}`" for name in endpoint.schema["required"])
        lines += [f"`data` has: {names}.", ""]
    if endpoint.params:
        place = "parameter" if endpoint.method == "GET" else "field of the body"
        lines += [f"| {place} | values | means |", "|---|---|---|"]
        lines += [f"| {_format_param(param)} |" for param in endpoint.params]
        lines.append("")
    return "\n".join(lines)


def _format_param(param: Param) -> str:
    values = {"flag": "true, false", "integer": f"0 to {param.maximum:,}"}.get(
        param.type, ", ".join(param.choices) or "text"
    )
    if param.is_required:
        values += "; required"
    elif param.default is not None:
        values += f"; default {json.dumps(param.default)}"
    return f"`{param.name}` | {values} | {param.about}"


def render_http_page() -> str:
    text = (ROOT / "docs/api-http.md").read_text(encoding="utf-8")
    return replace_section(text, "endpoints", format_endpoints())


def render_schemas() -> dict[str, str]:
    """Return the text of each JSON Schema by file name."""
    schemas = {"record": make_record_schema(), "session": make_session_schema()}
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


if __name__ == "__main__":
    for file_name, schema_text in render_schemas().items():
        (SCHEMAS_DIR / file_name).write_text(schema_text, encoding="utf-8")
    (ROOT / "README.md").write_text(render_readme(), encoding="utf-8")
    write_pages()
    (ROOT / "docs/sql.md").write_text(render_sql_page(), encoding="utf-8")
    (ROOT / "docs/api-http.md").write_text(render_http_page(), encoding="utf-8")
    threats.PAGE.write_text(threats.render_page(), encoding="utf-8")
    reliability.PAGE.write_text(reliability.render_page(), encoding="utf-8")
