"""The first street, end to end, on real files and a real store."""

from __future__ import annotations

from leslied.store import Reader
from tests.support.claude import ClaudeHome, Talk


def test_a_second_sync_decodes_nothing(claude: ClaudeHome):
    talk = Talk()
    claude.write(talk.prompt("hello"), talk.answer("hi"))
    first = claude.sync()

    second = claude.sync()

    assert (first.entries, first.added.records) == (2, 3)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)


def test_appended_bytes_cost_what_they_are(claude: ClaudeHome):
    talk = Talk()
    claude.write(*[talk.prompt("x" * 5000) for _ in range(100)])
    claude.sync()
    claude.write(line := talk.prompt("one more"))

    done = claude.sync()

    assert done.entries == 1
    assert done.bytes_read < 1000
    with Reader(claude.store_path) as reader:
        (session,) = reader.sessions()
        assert session.units == 101
        assert [p.record.native_id for p in reader.records(session.row)][-1] == (
            line["uuid"]
        )


def test_a_final_look_at_unended_logs_goes_on_from_their_cursors(claude: ClaudeHome):
    title = {"type": "custom-title", "customTitle": "One", "sessionId": "x"}
    claude.write(title, title)
    with claude.log().open("ab") as log:
        log.write(b'{"type": "custom-title", "customTitle": "Tw')
    first = claude.sync()

    final = claude.sync(is_final=True)

    assert first.added.placements == 2
    assert final.added.placements == 0
