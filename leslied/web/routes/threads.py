"""Endpoints about threads and their assets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.queries.threads.overview import load_thread_overview
from leslied.queries.threads.thread_assets import (
    load_asset_content,
    load_thread_assets,
)
from leslied.web.endpoint import Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments


def _list_threads(queries: QueryContext, _: Arguments) -> Answer:
    return load_thread_overview(queries).to_dict()


def _load_thread(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_thread_assets(queries, arguments["id"]).to_dict()


def _load_asset(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_asset_content(queries, arguments["id"], arguments["path"]).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/threads",
        about="Threads of all projects as trees, with progress and assets.",
        answer=_list_threads,
        schema=make_object_schema(projects="array", total="integer"),
    ),
    Endpoint(
        path="/threads/{id}",
        about="The assets of a thread, and the calls that wrote them.",
        answer=_load_thread,
        schema=make_object_schema(
            version="integer",
            thread="string",
            title="string|null",
            agent="string|null",
            session_id="string|null",
            assets="array",
            progress="object|null",
            removed="array",
            folder="string|null",
        ),
    ),
    Endpoint(
        path="/threads/{id}/asset",
        about="The content of an asset as safe HTML.",
        answer=_load_asset,
        schema=make_object_schema(
            path="string",
            title="string",
            html="string",
            size="integer",
            is_cut="boolean",
        ),
        params=(
            Param(
                name="path",
                about="The path of the asset as the thread lists it.",
                is_required=True,
                maximum=4096,
            ),
        ),
    ),
)
