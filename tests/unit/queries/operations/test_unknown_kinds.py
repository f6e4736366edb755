"""Unknown kinds are counted by agent, version and kind."""

from __future__ import annotations

from leslied.app import App
from leslied.model.unknown_kind import UnknownKind
from leslied.queries.operations.status import load_status
from leslied.queries.operations.unknown_kinds import list_unknown_kinds
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.queries import make_app


def test_kinds_are_counted_and_named_with_the_version(claude: ClaudeHome):
    log = ClaudeLogBuilder()
    claude.write(
        log.prompt("one"),
        *(log.line("novelty", version="9.1.0") for _ in range(3)),
        log.line("rarity", version="9.1.0"),
    )
    claude.sync()

    with make_app(claude).open_queries() as queries:
        kinds = list_unknown_kinds(queries)
        data = load_status(queries).to_dict()

    assert kinds == [
        UnknownKind(agent="claude-code", version="9.1.0", kind="novelty", entries=3),
        UnknownKind(agent="claude-code", version="9.1.0", kind="rarity", entries=1),
    ]
    assert data["unknown_kinds"] == [kind.to_dict() for kind in kinds]
    assert data["store"]["unknown"] == 4


def test_a_store_that_knows_all_kinds_has_none(app: App):
    with app.open_queries() as queries:
        assert list_unknown_kinds(queries) == []


def test_a_secret_in_the_name_of_a_kind_is_not_shown(claude: ClaudeHome):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    claude.write(ClaudeLogBuilder().line(secret))
    claude.sync()

    with make_app(claude).open_queries() as queries:
        status = load_status(queries)

    assert len(status.unknown_kinds) == 1
    assert secret not in str(status.to_dict())
