"""Endpoints about files."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.web.routes.files import ENDPOINTS
from tests.support.claude import ClaudeHome
from tests.support.files import NOTES, PARSER, write_file_sessions
from tests.support.queries import make_app


@pytest.mark.parametrize(
    ("values", "expected"),
    [({}, [PARSER, NOTES]), ({"q": "notes"}, [NOTES]), ({"limit": "1"}, [PARSER])],
)
def test_parameters_select_files(
    claude: ClaudeHome, values: dict[str, str], expected: list[str]
):
    write_file_sessions(claude)
    claude.sync()
    endpoint = ENDPOINTS[0]

    with make_app(claude).open_queries() as queries:
        answer = endpoint.answer(queries, endpoint.parse({}, values))
    assert isinstance(answer, dict)
    assert [file["path"] for file in answer["files"]] == expected


def test_a_history_needs_a_path():
    with pytest.raises(UserError, match="path is missing"):
        ENDPOINTS[1].parse({}, {})


def test_a_history_is_returned_in_parts(claude: ClaudeHome):
    write_file_sessions(claude)
    claude.sync()
    endpoint = ENDPOINTS[1]
    values = {"path": PARSER, "offset": "3", "limit": "1"}

    with make_app(claude).open_queries() as queries:
        answer = endpoint.answer(queries, endpoint.parse({}, values))
    assert isinstance(answer, dict)
    assert (answer["total"], len(answer["revisions"])) == (4, 1)
