"""Comparison of decoded entries with the store."""

from __future__ import annotations

import os

from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
from leslied.model.record import Record, SessionKey
from leslied.model.source import Cursor, Noise, Rejection
from leslied.store import StoreReader
from leslied.tail import discover
from tests.support.claude import ADAPTER, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import make_environment


def make_chunk(claude: ClaudeHome, **fields: object) -> DecodedChunk:
    roots = ADAPTER.roots(make_environment(claude.home), [])
    (source,) = discover(ADAPTER.name, roots).sources
    return DecodedChunk(
        source=source,
        cursor=Cursor(),
        decoder_version=2,
        **fields,  # type: ignore[arg-type]
    )


def make_entry(native_id: str, content: str = "x", **fields: object) -> DecodedEntry:
    key = SessionKey("claude-code", "s")
    record = Record(
        session=key,
        type="user_message",
        role="user",
        content=content,
        native_id=native_id,
        **fields,  # type: ignore[arg-type]
    )
    return DecodedEntry(0, 5, (record,))


def test_a_source_that_was_never_read_is_not_in_the_store(claude: ClaudeHome):
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.audits.find_source("claude-code", b"/none") is None


def test_a_store_without_sources_has_none_that_is_gone(claude: ClaudeHome):
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.audits.count_gone("claude-code") == 0


def test_a_repeated_record_may_have_another_content(claude: ClaudeHome):
    line = ClaudeLogBuilder().prompt("one")
    path = claude.write(line)
    claude.sync()
    entries = (
        make_entry(line["uuid"], "another"),
        make_entry(line["uuid"], "another", is_repeat=True),
    )

    with StoreReader(claude.store_path) as reader:
        verdicts = {}
        for is_masked in (False, True):
            audit = reader.audits.start_audit(
                ADAPTER.name,
                os.fsencode(path),
                has_stable_positions=True,
                is_masked=is_masked,
            )
            checked = audit.check(make_chunk(claude, entries=entries))
            verdicts[is_masked] = [verdict.verdict for verdict in checked]

    assert verdicts == {False: ["missing", "record"], True: ["record", "record"]}


def test_rows_are_compared_by_kind_and_digest_instead_of_their_numbers(
    claude: ClaudeHome,
):
    path = claude.write(ClaudeLogBuilder().line("file-history-snapshot"))
    with path.open("ab") as file:
        file.write(b"not JSON\n")
    claude.sync()
    with StoreReader(claude.store_path) as reader:
        (digest,) = reader._db.execute("SELECT digest FROM rejected").fetchone()
        (kind,) = reader._db.execute("SELECT kind FROM noise").fetchone()
        audit = reader.audits.start_audit(
            ADAPTER.name, os.fsencode(path), has_stable_positions=False, is_masked=False
        )
        chunk = make_chunk(
            claude,
            noise=(Noise(70, 1, kind), Noise(71, 1, kind)),
            rejected=(
                Rejection(72, 1, "", digest, b""),
                Rejection(73, 1, "", b"other", b""),
            ),
        )
        verdicts = [verdict.verdict for verdict in audit.check(chunk)]

    assert verdicts == ["noise", "missing", "rejected", "missing"]
