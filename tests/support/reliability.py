"""The fault table and docs/reliability.md: `make reliability`.

`faults.toml` holds the table. A test names rows with `@pytest.mark.fault("A1")`. The
page also shows the results of `make soak` and `make mutants`. They are JSON files
beside those of the fault table; a missing file means that this part was not run.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leslied.agents import load_adapters
from leslied.model.source import Environment, Shape
from tests.support.doc_sections import replace_section
from tests.support.row_tables import ROOT, RowTable, run_tests

PAGE = ROOT / "docs/reliability.md"
RESULTS_DIR = Path(__file__).with_name("reliability")
TABLE = RowTable(
    "fault",
    Path(__file__).with_name("faults.toml"),
    RESULTS_DIR / "faults.json",
)
GUARANTEES = {
    Shape.APPEND_LOG: ("log of lines", "each line exactly once"),
    Shape.COMPRESSED_LOG: ("compressed log", "each line exactly once"),
    Shape.DOCUMENT: (
        "JSON document that is rewritten",
        "each message once per version that leslied has seen",
    ),
    Shape.JSON_TREE: (
        "folder of JSON files",
        "each message once per version that leslied has seen",
    ),
    Shape.EVENT_TREE: ("folder of events", "each event exactly once"),
    Shape.CHECKPOINT_STORE: (
        "journal with checkpoints",
        "each message once per version that leslied has seen",
    ),
    Shape.SQLITE: (
        "SQLite database",
        "each row once per version that leslied has seen",
    ),
}
"""The kind of a source, and how often leslied stores what is in it."""
PARTS = {
    "kills": "Kills",
    "faults": "Faults at every write",
    "load": "Load",
    "poison": "Hostile logs beside live sessions",
    "stop": "Stopping",
    "fuzz": "Random input",
}
"""Parts of the soak, in the order of the page."""


def render_page() -> str:
    """Render docs/reliability.md: its prose, and the results of the last runs."""
    sections = {
        "sources": render_sources(),
        "soak": render_soak(load_results("soak")),
        "mutants": render_mutants(load_results("mutants")),
        "faults": _render_faults(),
    }
    text = PAGE.read_text("utf-8")
    for name, lines in sections.items():
        text = replace_section(text, name, "".join(f"{line}\n" for line in lines))
    return text


def load_results(name: str) -> dict[str, Any] | None:
    """Return the results of a run, or None if there was none."""
    path = RESULTS_DIR / f"{name}.json"
    if not path.exists():
        return None
    results: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return results


def render_sources() -> list[str]:
    """Return the lines of a table: kind of source, agents, guarantee."""
    titles: defaultdict[Shape, list[str]] = defaultdict(list)
    env = Environment(home=Path("/~"), environ={}, platform="linux")
    for adapter in load_adapters().values():
        projects = [Path("/~/app")] if adapter.project_log else []
        patterns = [p for root in adapter.roots(env, projects) for p in root.patterns]
        for shape in dict.fromkeys(pattern.shape for pattern in patterns):
            titles[shape].append(adapter.title)
    lines = ["| source | agents | leslied stores |", "|---|---|---|"]
    for shape, (kind, guarantee) in GUARANTEES.items():
        lines.append(f"| {kind} | {', '.join(sorted(titles[shape]))} | {guarantee} |")
    return lines


def render_soak(results: Mapping[str, Any] | None) -> list[str]:
    """Return the lines about the last `make soak`."""
    if results is None:
        return ["Not run yet: `make soak`."]
    lines = [
        f"Measured on {_format_origin(results)} on {results['machine']}.",
        "",
        *("| part | what | figure | goal | met |", "|---|---|---|---|---|"),
    ]
    for part, title in PARTS.items():
        rows = [row for row in results["rows"] if row["part"] == part]
        lines += [_render_soak_row(title, row, results) for row in rows]
        if not rows:
            lines.append(f"| {title} | not run | | | |")
    return lines


def _render_soak_row(
    title: str, row: Mapping[str, Any], results: Mapping[str, Any]
) -> str:
    origin = _format_origin({**results, **row})
    what = row["what"]
    if origin != _format_origin(results):
        what += f" ({origin})"
    met = {True: "yes", False: "**no**", None: ""}[row["met"]]
    return f"| {title} | {what} | {row['figure']} | {row['goal']} | {met} |"


def render_mutants(results: Mapping[str, Any] | None) -> list[str]:
    """Return the lines about the last `make mutants`."""
    if results is None:
        return ["Not run yet: `make mutants`."]
    caught, total = results["caught"], results["total"]
    share = f"{caught} of {total} planted bugs ({100 * caught / total:.0f} %)"
    lines = [f"On {_format_origin(results)}, the tests caught {share}."]
    if results["survivors"]:
        lines += ["", "Not caught:", ""]
        lines += [
            f"- `{each['name']}`: {each['what']}" for each in results["survivors"]
        ]
    return lines


def _render_faults() -> list[str]:
    results = TABLE.load_results()
    return [
        f"Last run: {_format_origin(results)}, {results['run']}.",
        "",
        *TABLE.render_overview(),
        *TABLE.render_areas(),
    ]


def _format_origin(results: Mapping[str, Any]) -> str:
    """Return when and at which commit something was measured."""
    return f"{results['date']} at commit {results['commit']}"


def main(arguments: Sequence[str]) -> int:
    """Run the marked tests, print their results and write them to the page."""
    has_passed = run_tests(TABLE, arguments)
    PAGE.write_text(render_page(), encoding="utf-8")
    return int(not has_passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
