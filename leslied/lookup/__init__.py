"""Looking: from an id, a list or a search on the command line to what is shown.

The counterpart of `pipeline`: it joins the store and the sessions room, and only reads.
"""

from __future__ import annotations

from leslied.lookup.agents import check_agents
from leslied.lookup.hits import Answer, Hit, Manner, fold, search
from leslied.lookup.ids import Found, resolve
from leslied.lookup.query import has_syntax, make_filter, parse_query
from leslied.lookup.sessions import add_costs, gather_sessions, load_family
from leslied.lookup.units import load_session, load_units, tell_resume
from leslied.redact.deep import redact_placed, redact_unit

__all__ = [
    "Answer",
    "Found",
    "Hit",
    "Manner",
    "add_costs",
    "check_agents",
    "fold",
    "gather_sessions",
    "has_syntax",
    "load_family",
    "load_session",
    "load_units",
    "make_filter",
    "parse_query",
    "redact_placed",
    "redact_unit",
    "resolve",
    "search",
    "tell_resume",
]
