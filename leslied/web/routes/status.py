"""Endpoints about leslied itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.queries.operations.status import load_status
from leslied.web.endpoint import Endpoint, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments


def _load_status(queries: QueryContext, _: Arguments) -> Answer:
    return load_status(queries).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/status",
        about="State of the daemon, the store and each agent.",
        answer=_load_status,
        schema=make_object_schema(
            daemon="object", agents="array", store="object", failures="array"
        ),
    ),
)
