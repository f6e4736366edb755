"""Test that every agent's adapter keeps the laws of `AgentAdapter`, on all fixtures."""

from __future__ import annotations

import builtins
import contextlib
import copy
import json
import os
import random
import re
import shlex
import tomllib
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leslied import tail
from leslied.agents import AgentAdapter, load_adapters
from leslied.errors import DecodeError
from leslied.model.record import (
    DecodeResult,
    EventKind,
    Origin,
    Record,
    RecordType,
    Role,
    make_record_id,
)
from leslied.model.source import Cursor, Environment, RawEntry, Shape, SourceRef
from leslied.queries.operations.agents import make_agent_state
from leslied.sessions.file_changes import find_file_changes
from leslied.store import StoreReader
from leslied.threads.collected_assets import collect_assets
from tests.support import golden
from tests.support.agent_home import AgentHome
from tests.support.clock import FakeClock

ADAPTERS = list(load_adapters().values())
CASES = golden.list_all_cases()
CASES_IN_ORDER = {
    ("chibi", "contexts"),
    ("cline", "speech"),
    ("codex", "rewind"),
    ("leslie", "transcripts"),
}
"""Cases of sessions that continue in another file, so that the order matters."""
over_cases = pytest.mark.parametrize(
    ("adapter", "case"), CASES, ids=golden.format_case_id
)
over_adapters = pytest.mark.parametrize("adapter", ADAPTERS, ids=golden.format_case_id)
MAX_STATE_BYTES = 4096
NEW_MTIME_NS = 1_800_000_000 * 10**9
FILLER = b"\0 \t\r\n\xef\xbb\xbf"
"""Bytes that may surround entries: NUL, white space and a byte order mark."""


def read_sources(adapter: AgentAdapter, home: Path) -> dict[SourceRef, list[RawEntry]]:
    """Return every source in a home with its entries, as the reader splits them."""
    discovered = tail.discover(adapter.name, golden.list_roots(adapter, home))
    limits = tail.ReadLimits()
    return {
        source: [
            entry
            for chunk in tail.read(source, Cursor(), limits)
            for entry in chunk.entries
        ]
        for source in sorted(discovered.sources, key=lambda source: source.path)
    }


def discover_sources(adapter: AgentAdapter, home: Path) -> list[SourceRef]:
    """Return the sources in a home."""
    return tail.discover(adapter.name, golden.list_roots(adapter, home)).sources


def list_cases_by_shape() -> list[tuple[AgentAdapter, Path]]:
    """Return a case for each combination of shapes that an agent's sources have."""
    cases = {}
    for adapter, case in CASES:
        sources = discover_sources(adapter, case / "home")
        shapes = frozenset(source.shape for source in sources)
        is_damaged = case.name in ("damaged", "broken-lines")
        cases[adapter.name, shapes, is_damaged] = (adapter, case)
    return list(cases.values())


def count_unread(adapter: AgentAdapter, home: Path, store: Path) -> int:
    """Return how many sources changed since they were read."""
    with StoreReader(store) as reader:
        (summary,) = reader.summarize_agents()
    roots = golden.list_roots(adapter, home)
    return make_agent_state(adapter, roots, summary).unread


def decode_all(
    adapter: AgentAdapter, home: Path
) -> Iterator[tuple[RawEntry, dict[str, Any], DecodeResult]]:
    """Yield each entry that can be decoded, with the state before it."""
    for source, entries in read_sources(adapter, home).items():
        side_file = {"beside": tail.read_side_file(source)} if source.side_file else {}
        state: dict[str, Any] = side_file
        for entry in entries:
            try:
                decoded = adapter.decode(entry, state)
            except Exception:  # noqa: BLE001 - another test checks which errors are raised
                continue
            yield entry, state, decoded
            state = decoded.state


def parse_json(data: bytes) -> Any:
    """Return an entry's JSON object, or the list that a document may be, or None."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from iter_strings(key)
            yield from iter_strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from iter_strings(item)


def iter_texts(record: Record) -> Iterator[str]:
    fields = (getattr(record, name) for name in record.__struct_fields__)
    return iter_strings(list(fields))


def check_record(record: Record) -> None:
    """Assert that the record's values are allowed."""
    assert record.type in typing.get_args(RecordType)
    assert record.role in typing.get_args(Role)
    if record.type == "system_event":
        assert record.metadata.get("kind") in typing.get_args(EventKind)
    if record.type == "user_message":
        assert record.metadata.get("origin") in typing.get_args(Origin)
    texts = (record.content, record.native_id, record.tool_name, record.tool_call_id)
    other_texts = (record.tool_input, record.model, record.message_id, record.parent_id)
    assert all(type(text) is str for text in (*texts, *other_texts))
    for text in iter_texts(record):
        text.encode()
    if record.created_at:
        record.created_at.astimezone(UTC)
    for count in golden.usage_to_dict(record.usage).values() if record.usage else ():
        assert 0 <= count < 2**63


def check_state(state: dict[str, Any]) -> None:
    assert len(json.dumps(state, ensure_ascii=False).encode()) <= MAX_STATE_BYTES


@over_cases
def test_records_can_be_sent_to_another_process(adapter: AgentAdapter, case: Path):
    for _, _, decoded in decode_all(adapter, case / "home"):
        # Numbers and texts that MessagePack does not have are sent in another form.
        with contextlib.suppress(OverflowError, UnicodeEncodeError):
            sent = msgspec.msgpack.encode(decoded.records)

            received = msgspec.msgpack.decode(sent, type=tuple[Record, ...])
            assert received == decoded.records


@over_cases
def test_decode_does_no_io(
    adapter: AgentAdapter, case: Path, monkeypatch: pytest.MonkeyPatch
):
    sources = read_sources(adapter, case / "home")

    def refuse(*_: Any, **__: Any):
        pytest.fail("decode did I/O")

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        for name in ("open", "stat", "lstat", "scandir", "listdir", "readlink"):
            patch.setattr(os, name, refuse)
        for entries in sources.values():
            state: dict[str, Any] = {}
            for entry in entries:
                with contextlib.suppress(Exception):
                    state = adapter.decode(entry, state).state


@over_cases
def test_an_entry_without_state_is_decoded_or_rejected(
    adapter: AgentAdapter, case: Path
):
    for entries in read_sources(adapter, case / "home").values():
        for entry in entries:
            check_decoded_or_rejected(adapter, entry, {})


@over_cases
def test_decode_is_pure(adapter: AgentAdapter, case: Path):
    for entry, state, decoded in decode_all(adapter, case / "home"):
        before = copy.deepcopy(state)

        again = adapter.decode(entry, copy.deepcopy(state))

        assert again == decoded
        assert state == before


@over_cases
def test_the_records_of_an_entry_have_distinct_ids(adapter: AgentAdapter, case: Path):
    for _, _, decoded in decode_all(adapter, case / "home"):
        ids = Counter(
            (r.session, r.scope, r.native_id, r.block) for r in decoded.records
        )

        assert [id_ for id_, number in ids.items() if number > 1] == []


@over_cases
def test_different_entries_have_different_ids(adapter: AgentAdapter, case: Path):
    identities: dict[tuple[Any, ...], bytes] = {}
    for entry, _, decoded in decode_all(adapter, case / "home"):
        for record in decoded.records:
            is_shared = record.is_copy or record.metadata.get("kind") == (
                "subagent_linked"
            )
            if record.native_id and not is_shared:
                id_ = (record.session, record.scope, record.native_id, record.block)
                # Versions of a mutable entry share an id, but never change the type.
                identity = (
                    record.type.encode() if adapter.has_mutable_entries else entry.data
                )

                assert identities.setdefault(id_, identity) == identity


@over_cases
def test_reading_twice_changes_nothing(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock
):
    golden.copy_home(case, home)
    golden.sync_home(adapter, home, tmp_path / "store.db", clock)
    first = golden.describe_store(tmp_path / "store.db")
    for path in home.rglob("*.json*"):
        os.utime(path)

    golden.sync_home(adapter, home, tmp_path / "store.db", clock)

    assert golden.describe_store(tmp_path / "store.db") == first


@pytest.mark.parametrize(
    ("adapter", "case"), list_cases_by_shape(), ids=golden.format_case_id
)
def test_changes_of_a_source_are_unread_until_the_next_scan(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock: FakeClock
):
    """Whatever shape a source has, and although some of its entries are rejected."""
    golden.copy_home(case, home)
    unread_counts = []
    for _ in range(2):
        golden.sync_home(adapter, home, tmp_path / "store.db", clock)
        unread_counts.append(count_unread(adapter, home, tmp_path / "store.db"))
        for source in discover_sources(adapter, home):
            os.utime(source.path, ns=(NEW_MTIME_NS, NEW_MTIME_NS))
        unread_counts.append(count_unread(adapter, home, tmp_path / "store.db"))

    count = len(discover_sources(adapter, home))
    assert unread_counts == [0, count, 0, 0]


@pytest.mark.fault("G5")
@over_cases
def test_the_order_of_files_does_not_change_records(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock
):
    if (adapter.name, case.name) in CASES_IN_ORDER:
        pytest.skip("each file of the session continues the one before it")
    golden.copy_home(case, home)
    golden.sync_home(adapter, home, tmp_path / "default.db", clock)
    paths = sorted((p for p in home.rglob("*") if p.is_file()), reverse=True)
    for age, path in enumerate(paths):
        os.utime(path, (age, age))

    golden.sync_home(adapter, home, tmp_path / "reversed.db", clock)

    default_rows, reversed_rows = (
        [without_sequence(row) for row in golden.describe_store(tmp_path / name)]
        for name in ("default.db", "reversed.db")
    )
    assert list(filter(is_not_link, reversed_rows)) == list(
        filter(is_not_link, default_rows)
    )
    assert sorted(reversed_rows) == sorted(default_rows)


def without_sequence(row: dict[str, Any]) -> str:
    """Return a row as text without its sequence, which depends on the file order."""
    return json.dumps({**row, "sequence": 0}, sort_keys=True)


def is_not_link(row: str) -> bool:
    """Return whether a row is not a subagent's link, whose position may differ."""
    return '"kind": "subagent_linked"' not in row


@over_cases
def test_every_record_is_valid(adapter: AgentAdapter, case: Path):
    for _, _, decoded in decode_all(adapter, case / "home"):
        for record in decoded.records:
            check_record(record)


@over_cases
def test_the_decode_state_is_small_json(adapter: AgentAdapter, case: Path):
    for _, _, decoded in decode_all(adapter, case / "home"):
        check_state(decoded.state)


@pytest.mark.fault("A15")
@over_cases
def test_an_entry_of_an_unknown_type_is_stored_as_unknown(
    adapter: AgentAdapter, case: Path
):
    for entry, state, _ in decode_all(adapter, case / "home"):
        value = parse_json(entry.data)
        if entry.source.shape is Shape.DOCUMENT or not value or "type" not in value:
            continue
        unknown = json.dumps({**value, "type": "no-such-type"}).encode()

        decoded = adapter.decode(RawEntry(entry.source, 0, unknown), state)

        assert [r.content for r in decoded.records if r.type == "unknown"] == [
            unknown.decode()
        ]


@over_cases
def test_unknown_keys_change_nothing(adapter: AgentAdapter, case: Path):
    for entry, state, decoded in decode_all(adapter, case / "home"):
        value = parse_json(entry.data)
        if value is None or any(r.type == "unknown" for r in decoded.records):
            continue
        extended = RawEntry(
            entry.source, 0, json.dumps(add_unknown_keys(value)).encode()
        )

        assert [
            comparable_values(record)
            for record in adapter.decode(extended, state).records
        ] == [comparable_values(record) for record in decoded.records]


def add_unknown_keys(value: Any) -> Any:
    """Return the value with an unknown key in every object of a known structure."""
    if isinstance(value, dict):
        extended = {
            name: item if name in FREE_FORM_KEYS else add_unknown_keys(item)
            for name, item in value.items()
        }
        return {**extended, "zzUnknown": {"nested": [1, "text", None]}}
    return (
        [add_unknown_keys(item) for item in value] if isinstance(value, list) else value
    )


FREE_FORM_KEYS = {
    "input",
    "compactMetadata",
    "microcompactMetadata",
    "worktreeSession",
    "error",
    "args",
    "rawInput",
    "arguments",
    "raw_input",
    "modelMetrics",
    "tool_input",
}
"""Keys of objects that are stored as they are, with any keys."""


def comparable_values(record: Record) -> Any:
    """Return a record's values; parse or hide JSON text, which added keys change."""
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    try:
        values["tool_input"] = json.loads(record.tool_input or "null")
    except RecursionError:
        values["tool_input"] = None
    is_object = record.content.startswith("{")
    return {**values, "content": "an object" if is_object else record.content}


@over_cases
def test_no_record_contains_a_lone_surrogate(adapter: AgentAdapter, case: Path):
    for entry, state, _ in decode_all(adapter, case / "home"):
        value = parse_json(entry.data)
        if value is None:
            continue
        damaged = RawEntry(
            entry.source, 0, json.dumps(add_lone_surrogates(value)).encode()
        )

        decoded = adapter.decode(damaged, state)

        for text in [text for r in decoded.records for text in iter_texts(r)]:
            text.encode()
        check_state(decoded.state)


def add_lone_surrogates(value: Any) -> Any:
    """Add a lone surrogate to every string except kinds, and a key with one."""
    kinds = ("type", "subtype", "role", "operation")
    if isinstance(value, dict):
        fields = {
            name: item if name in kinds else add_lone_surrogates(item)
            for name, item in value.items()
        }
        return {**fields, "unknown\udcb2": "x"}
    if isinstance(value, list):
        return [add_lone_surrogates(item) for item in value]
    return value + "\udcb2" if isinstance(value, str) else value


@over_cases
def test_every_byte_is_accounted_for(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock
):
    golden.copy_home(case, home)
    golden.sync_home(adapter, home, tmp_path / "store.db", clock)

    with StoreReader(tmp_path / "store.db") as reader:
        stored_ids = {
            row[0] for row in reader._db.execute("SELECT entry_id FROM record")
        }
        for source, entries in read_sources(adapter, home).items():
            covered = covered_offsets(reader, source.path)
            for entry in entries:
                uncovered = [
                    entry.data[index : index + 1]
                    for index in range(entry.length)
                    if entry.offset + index not in covered
                ]
                is_covered = not b"".join(uncovered).strip(FILLER)

                assert is_covered or is_stored_elsewhere(adapter, entry, stored_ids), (
                    entry.data[:200]
                )


def covered_offsets(reader: StoreReader, path: Path) -> set[int]:
    """Return the offsets of a source's bytes that are records, noise or rejected."""
    query = " UNION ALL ".join(
        f"SELECT t.offset, t.length FROM {table} t JOIN source s ON s.id = t.source "
        "WHERE s.path = ?"
        for table in ("placement", "noise", "rejected")
    )
    rows = reader._db.execute(query, [os.fsencode(path)] * 3)
    return {at for offset, length in rows for at in range(offset, offset + length)}


def is_stored_elsewhere(
    adapter: AgentAdapter, entry: RawEntry, stored_ids: set[bytes]
) -> bool:
    """Return whether the store read the entry's records from another file."""
    records = adapter.decode(entry, {}).records
    # Whether an entry has a block number from 900 may depend on the state.
    ids = [
        make_record_id(r.session.agent, r.native_id, r.block, r.scope)
        for r in records
        if r.native_id and r.block < 900
    ]
    return bool(ids) and all(id_ in stored_ids for id_ in ids)


def list_sample_entries(adapter: AgentAdapter) -> list[tuple[RawEntry, dict[str, Any]]]:
    """Return the small objects among all fixture entries, each with its state."""
    return [
        (entry, state)
        for case in golden.list_cases(adapter)
        for entry, state, _ in decode_all(adapter, case / "home")
        if entry.length < 4000 and parse_json(entry.data)
    ]


SAMPLE_ENTRIES = {adapter.name: list_sample_entries(adapter) for adapter in ADAPTERS}
"""Empty for an agent whose entries are not JSON."""
HUGE_NUMBER = "placeholder of a number too long for Python"
SCALARS = [
    None, True, False, 0, -1, 2**63, -(2**63) - 1, 2**64, 1.5, 1e300, "", "x", "\udcb2",
    "\0", "main", "user", "assistant", "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59", "../../x", "<persisted-output>", HUGE_NUMBER,
]  # fmt: skip
ODD_VALUES = [
    *SCALARS, [], {}, [None], [{}], [[]], ["x", {"type": "text", "text": 1}],
    {"type": "text", "text": "x"}, {"0": "x"}, {"a": {"b": [2**70]}},
]  # fmt: skip
json_values = st.recursive(
    st.sampled_from(SCALARS) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "0", "source"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def get_sample_entry(adapter: AgentAdapter) -> tuple[RawEntry, dict[str, Any]]:
    """Return an entry of a fixture with its state; an object if the agent has one."""
    if SAMPLE_ENTRIES[adapter.name]:
        return SAMPLE_ENTRIES[adapter.name][0]
    home = golden.list_cases(adapter)[0] / "home"
    entry, state, _ = next(decode_all(adapter, home))
    return entry, state


def iter_paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every item, at any depth, as a tuple of keys and indexes."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, item in items:
        yield (*prefix, step)
        yield from iter_paths(item, (*prefix, step))


def set_at_path(value: Any, path: tuple[Any, ...], new_item: Any) -> None:
    """Replace the item at a path; `value` is modified."""
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new_item


def encode_json(value: Any) -> bytes:
    """Return the value as JSON, with a number of 4400 digits for each placeholder."""
    return json.dumps(value).replace(f'"{HUGE_NUMBER}"', "7" * 4400).encode()


def check_decoded_or_rejected(
    adapter: AgentAdapter, entry: RawEntry, state: dict[str, Any]
) -> None:
    """Assert that the entry is decoded into valid records or raises DecodeError."""
    try:
        decoded = adapter.decode(entry, state)
    except DecodeError:
        return
    assert decoded.records or decoded.noise
    for record in decoded.records:
        check_record(record)
    check_state(decoded.state)


fuzz = settings(
    max_examples=2000,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.heavy
@over_adapters
@fuzz
@given(data=st.data())
def test_any_value_in_any_field_is_decoded_or_rejected(
    adapter: AgentAdapter, data: st.DataObject
):
    if not SAMPLE_ENTRIES[adapter.name]:
        pytest.skip("the agent's entries are not JSON")
    entry, state = data.draw(st.sampled_from(SAMPLE_ENTRIES[adapter.name]))
    value = parse_json(entry.data)
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(iter_paths(value))
        set_at_path(value, data.draw(st.sampled_from(paths)), data.draw(json_values))

    check_decoded_or_rejected(
        adapter, RawEntry(entry.source, 0, encode_json(value)), state
    )


@over_adapters
def test_every_odd_value_in_every_field_is_decoded_or_rejected(
    adapter: AgentAdapter,
):
    failures = []
    for entry, state, path in iter_fields(adapter):
        for odd_value in ODD_VALUES:
            value = parse_json(entry.data)
            set_at_path(value, path, odd_value)
            try:
                check_decoded_or_rejected(
                    adapter, RawEntry(entry.source, 0, encode_json(value)), state
                )
            except Exception as error:  # noqa: BLE001 - collect all failures
                where = ".".join(map(str, path))
                failures.append(f"{where} = {odd_value!r}: {type(error).__name__}")

    assert failures == []


def iter_fields(
    adapter: AgentAdapter,
) -> Iterator[tuple[RawEntry, dict[str, Any], tuple[Any, ...]]]:
    """Yield each field of each kind of entry once: an entry, its state, the path."""
    yielded_fields = set()
    for entry, state in SAMPLE_ENTRIES[adapter.name]:
        value = parse_json(entry.data)
        kind = tuple(
            kind_signature(value, name) for name in ("type", "subtype", "operation")
        )
        for path in iter_paths(value):
            if len(path) <= 4 and (kind, path) not in yielded_fields:
                yielded_fields.add((kind, path))
                yield entry, state, path


def kind_signature(value: Any, name: str) -> str:
    """Return as JSON the values of the field `name` at all levels where it occurs."""
    fields = value if isinstance(value, dict) else {}
    kinds = [fields.get(name)]
    for inner in ("attachment", "data", "message", "payload"):
        part = fields.get(inner)
        kinds.append(part.get(name) if isinstance(part, dict) else None)
    return json.dumps(kinds)


@over_adapters
@fuzz
@given(data=st.binary(max_size=60))
def test_any_bytes_are_decoded_or_rejected(adapter: AgentAdapter, data: bytes):
    entry, state = get_sample_entry(adapter)

    check_decoded_or_rejected(adapter, RawEntry(entry.source, 0, data), state)


HOSTILE_INPUTS = {
    "an endless list": b"[" * 100_000,
    "an endless object": b'{"type":' * 50_000 + b"1" + b"}" * 50_000,
    "depth and a lone surrogate": b'{"a":"\\ud800","b":'
    + b"[" * 600
    + b"]" * 600
    + b"}",
    "depth in a field": b'{"type":"x","content":' + b"[" * 900 + b"]" * 900 + b"}",
    "an endless number": b'{"type":"x","timestamp":' + b"7" * 100_000 + b"}",
    "an infinite number": b'{"type":"user","message":{"content":"\\ud800"},"a":1e999}',
    "the same key twice": b'{"type":"x","type":{"type":["x"]}}',
    "nothing": b"",
}


@pytest.mark.fault("A4", "A9", "A10", "A16")
@over_adapters
@pytest.mark.parametrize("kind", HOSTILE_INPUTS)
def test_hostile_bytes_are_decoded_or_rejected(adapter: AgentAdapter, kind: str):
    entry, state = get_sample_entry(adapter)

    check_decoded_or_rejected(
        adapter, RawEntry(entry.source, 0, HOSTILE_INPUTS[kind]), state
    )


@over_adapters
def test_a_corrupt_line_does_not_stop_the_reader(
    adapter: AgentAdapter, home: Path, tmp_path: Path, clock
):
    rng = random.Random(7)
    lines = [corrupt_field(entry, path, rng) for entry, _, path in iter_fields(adapter)]
    logs = (e.source for e, _ in SAMPLE_ENTRIES[adapter.name])
    source = next((log for log in logs if log.shape is Shape.APPEND_LOG), None)
    if source is None:
        pytest.skip("the agent writes no append log")
    log = home / source.path.relative_to(source.root.parents[1])
    log.parent.mkdir(parents=True)
    failures = []
    for start in range(0, len(lines), 100):
        log.write_bytes(b"".join(line + b"\n" for line in lines[start : start + 100]))
        path = tmp_path / f"{start}.db"
        try:
            golden.sync_home(adapter, home, path, clock)
            golden.describe_store(path)
        except Exception as error:  # noqa: BLE001 - any error would stop reading
            failures.append(f"lines from {start}: {error!r}")

    assert failures == []


def corrupt_field(entry: RawEntry, path: tuple[Any, ...], rng: random.Random) -> bytes:
    value = parse_json(entry.data)
    set_at_path(value, path, rng.choice(ODD_VALUES))
    return encode_json(value)


@over_cases
def test_records_equal_the_golden_file(
    adapter: AgentAdapter,
    case: Path,
    home: Path,
    tmp_path: Path,
    clock,
    pytestconfig: pytest.Config,
):
    golden.copy_home(case, home)
    golden.sync_home(adapter, home, tmp_path / "store.db", clock)

    output = golden.dump_rows(golden.describe_store(tmp_path / "store.db"))

    expected = golden.load_golden(case / "records.jsonl", output, pytestconfig)
    assert output.splitlines() == expected.splitlines()


def find_capabilities(adapter: AgentAdapter) -> set[str]:
    """Return the capabilities that appear in records of the adapter's fixtures."""
    capabilities = set()
    for case in golden.list_cases(adapter):
        for _, _, decoded in decode_all(adapter, case / "home"):
            for record in decoded.records:
                capabilities.update(
                    name for name, check in CAPABILITY_CHECKS.items() if check(record)
                )
    return capabilities


CAPABILITY_CHECKS: dict[str, typing.Callable[[Record], object]] = {
    "folder": lambda r: r.metadata.get("cwd"),
    "title": lambda r: r.metadata.get("kind") == "title",
    "model": lambda r: r.model,
    "tokens": lambda r: r.usage,
    "thinking": lambda r: r.type == "thinking",
    "tools": lambda r: r.type == "tool_use",
    "subagents": lambda r: r.session.source != "main",
    "turn end": lambda r: (
        r.metadata.get("kind") in ("turn_ended", "ended")
        or r.metadata.get("stop_reason") == "end_turn"
    ),
}


@over_adapters
def test_fixtures_contain_exactly_the_declared_capabilities(adapter: AgentAdapter):
    declared = adapter.capabilities - {"live"}

    assert find_capabilities(adapter) == declared


@over_adapters
def test_an_adapter_is_verified_with_a_version_whose_logs_were_captured(
    adapter: AgentAdapter,
):
    cases = [
        tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))
        for case in golden.list_cases(adapter)
    ]
    versions = {
        case["version"] for case in cases if case["source"].startswith("captured")
    }
    version, _, month = adapter.verified.partition(", ")

    assert version in versions if versions else not version
    assert re.fullmatch(r"(20\d\d-(0[1-9]|1[0-2]))?", month)
    assert bool(month) == bool(version)


@over_adapters
def test_an_adapter_reads_only_declared_environment_variables(
    adapter: AgentAdapter, tmp_path: Path
):
    class Environ(dict[str, str]):
        accessed: set[str] = set()  # noqa: RUF012

        def get(self, name: str, default: Any = None) -> Any:
            self.accessed.add(name)
            return default

        def __getitem__(self, name: str) -> str:
            self.accessed.add(name)
            raise KeyError(name)

    env = Environment(home=tmp_path, environ=Environ(), platform="linux")

    list(adapter.roots(env, []))
    list(adapter.live_registries(env, []))

    assert Environ.accessed <= set(adapter.env_vars)


@over_adapters
def test_an_adapter_with_the_live_capability_has_process_registries(
    adapter: AgentAdapter, tmp_path: Path
):
    registries = list(adapter.live_registries(golden.make_environment(tmp_path), []))

    assert bool(registries) == ("live" in adapter.capabilities)


@over_adapters
def test_an_id_from_a_log_is_quoted_for_the_shell(adapter: AgentAdapter):
    command = adapter.resume_command("x; rm -rf ~ `id` $(id) '")

    assert not command or shlex.split(command)[-1].endswith("x; rm -rf ~ `id` $(id) '")


@pytest.mark.parametrize(
    ("adapter", "case"),
    [(adapter, case) for adapter, case in CASES if "refused-todos" in case.name],
    ids=golden.format_case_id,
)
def test_a_refused_to_do_list_is_not_progress(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock
):
    golden.copy_home(case, home)
    contents = AgentHome(adapter, home, tmp_path / "store.db", clock).read()
    changes = find_file_changes(contents.units()[-1].entries, "/home/dev", "chat-1")

    (asset,) = collect_assets(changes, lambda _: False, lambda _: None)

    assert asset.text.endswith(
        "## In Progress\n\n- [ ] First\n\n## To Do\n\n- [ ] Second\n"
    )
