"""Endpoints about files that agents changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from leslied.queries.file_history import load_file_history
from leslied.queries.files import FileOrder, FileSelection, list_files
from leslied.web.endpoint import Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments

_MAX_PATH_CHARACTERS = 4096


def _list_files(queries: QueryContext, arguments: Arguments) -> Answer:
    selection = FileSelection(
        words=arguments["q"],
        project=arguments["project"],
        folder=arguments["folder"],
        order=arguments["sort"],
        limit=arguments["limit"],
    )
    return list_files(queries, selection).to_dict()


def _load_history(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_file_history(
        queries,
        arguments["path"],
        offset=arguments["offset"],
        limit=arguments["limit"],
    ).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/files",
        about="Files that agents changed, most recently changed first.",
        answer=_list_files,
        schema=make_object_schema(
            files="array",
            total="integer",
            projects="array",
            folder="string|null",
            folders="array",
        ),
        params=(
            Param(name="q", about="Only paths with all these words.", default=""),
            Param(
                name="project",
                about="Only files of this project, by path or name.",
                default="",
                maximum=_MAX_PATH_CHARACTERS,
            ),
            Param(
                name="folder",
                about="Only files below this absolute path.",
                default="",
                maximum=_MAX_PATH_CHARACTERS,
            ),
            Param(
                name="sort",
                about="Order.",
                choices=get_args(FileOrder),
                default="recent",
            ),
            Param(
                name="limit",
                about="At most so many files.",
                type="integer",
                default=200,
                maximum=5000,
            ),
        ),
    ),
    Endpoint(
        path="/files/history",
        about="The calls that changed a file, newest first, with diffs.",
        answer=_load_history,
        schema=make_object_schema(
            path="string",
            name="string",
            project="string|null",
            earlier_paths="array",
            total="integer",
            revisions="array",
        ),
        params=(
            Param(
                name="path",
                about="The absolute path of the file.",
                is_required=True,
                maximum=_MAX_PATH_CHARACTERS,
            ),
            Param(
                name="offset",
                about="Leave out so many of the newest changes.",
                type="integer",
                default=0,
                maximum=1_000_000,
            ),
            Param(
                name="limit",
                about="At most so many changes.",
                type="integer",
                default=50,
                maximum=200,
            ),
        ),
    ),
)
