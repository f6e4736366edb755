"""JSON Lines: one record per line, subagents after the unit that spawned them.

`schemas/record.schema.json` describes the form of a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.field_tables import record_to_dict
from leslied.model.output import Artifact
from leslied.rendering.messages import iter_units
from leslied.sinks._contract import Sink
from leslied.sinks._text import dump_json_lines, make_file_stem

if TYPE_CHECKING:
    from leslied.model.session import Session


def render(session: Session) -> tuple[Artifact, ...]:
    """Render every record, in reading order."""
    units = iter_units(session.units)
    lines = [record_to_dict(placed) for unit in units for placed in unit.entries]
    name = f"{make_file_stem(session)}.jsonl"
    return (Artifact(path=name, body=dump_json_lines(lines)),)


SINK = Sink(name="jsonl", about="JSON lines, one per record", render=render)
