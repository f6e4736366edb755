"""JSON: the whole session as one document, in the form that `show --json` prints.

`schemas/session.schema.json` describes the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.field_tables import session_to_dict, unit_to_dict
from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
from leslied.sinks._text import dump_json, encode_text, make_file_stem

if TYPE_CHECKING:
    from leslied.model.session import Session

SCHEMA = "leslied/session.schema.json"


def render(session: Session) -> tuple[Artifact, ...]:
    """Render the session, and its units with every record, as one document."""
    document = {
        "schema": SCHEMA,
        "session": {
            **session_to_dict(session),
            "cost_usd": session.cost_usd,
        },
        "units": [unit_to_dict(unit) for unit in session.units],
    }
    body = encode_text(dump_json(document, 2) + "\n")
    return (Artifact(path=f"{make_file_stem(session)}.json", body=body),)


SINK = Sink(name="json", about="one JSON document with every record", render=render)
