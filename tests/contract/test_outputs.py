"""Test that every export of every fixture is valid for its readers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import leslied
from leslied.agents import AgentAdapter, load_adapters
from leslied.cli.commands.export import FORMATS
from leslied.model.session import Session, Unit
from leslied.rendering.messages import iter_units, sum_unit_usage
from leslied.sinks import load_sinks
from leslied.sinks.leslie import parse_document
from tests.support.clock import FakeClock
from tests.support.exports import (
    DevflowRun,
    join_artifacts,
    read_case_session,
    render,
    render_main_text,
    write_artifacts,
)
from tests.support.golden import FIXTURES, format_case_id, list_all_cases, load_golden

SCHEMAS = Path(leslied.__file__).parent / "schemas"
RECORD, SESSION = (
    json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    for name in ("record", "session")
)
REGISTRY = Registry().with_resources(
    [(schema["$id"], Resource.from_contents(schema)) for schema in (RECORD, SESSION)]
)
GOLDEN = FIXTURES.parent / "exports"
GOLDEN_CASES = ("sub2-old", "tools-old")


@pytest.fixture
def session(
    request: pytest.FixtureRequest, home: Path, tmp_path: Path, clock: FakeClock
) -> Session:
    adapter, case = request.param
    if isinstance(adapter, str):
        case = FIXTURES / adapter / case
        adapter = load_adapters()[adapter.replace("_", "-")]
    loaded = read_case_session(adapter, case, home, tmp_path / "store.db", clock)
    if loaded is None:
        pytest.skip("the fixture has no session")
    return loaded


def format_test_id(value: tuple[AgentAdapter, Path]) -> str:
    return "-".join(filter(None, map(format_case_id, value)))


every_case = pytest.mark.parametrize(
    "session", list_all_cases(), indirect=True, ids=format_test_id
)
golden_cases = pytest.mark.parametrize(
    "session",
    [
        (load_adapters()["claude-code"], FIXTURES / "claude_code" / n)
        for n in GOLDEN_CASES
    ],
    indirect=True,
    ids=format_test_id,
)


def list_entry_ids(units: tuple[Unit, ...]) -> list[str]:
    return [placed.entry_id for unit in iter_units(units) for placed in unit.entries]


def test_the_export_command_offers_exactly_the_existing_sinks():
    assert set(load_sinks()) == set(FORMATS)


@golden_cases
@pytest.mark.parametrize("format_", FORMATS)
def test_an_output_equals_its_golden_file(
    session: Session, format_: str, home: Path, request: pytest.FixtureRequest
):
    output = join_artifacts(render(session, format_), home)

    # The working directory of a case is named after the case, without `-old`.
    case = next(name for name in GOLDEN_CASES if name[:4] in session.summary.cwd)
    path = GOLDEN / f"{case}.{format_}.txt"
    assert output == load_golden(path, output, request.config)


@pytest.mark.parametrize(
    ("session", "block"),
    [
        (
            ("claude_code", "handback"),
            "[Tool result] Agent\nNested: the README is wrong about `--fast`.",
        ),
        (
            ("claude_code", "handback"),
            "[Tool result] Agent\nThe README promises a `--fast` flag which does not",
        ),
        (
            ("claude_code", "bgsub"),
            "[Tool result] Agent\nAsync agent launched successfully.\n\n",
        ),
        (
            ("claude_code", "notified"),
            '[Notification] Agent "quick look" finished: The quick helper found no',
        ),
        (
            ("claude_code", "parallel-calls"),
            "[Tool result] Bash #2\nsecond\n\n[Tool result] Bash #1\nfirst\n",
        ),
        (("codex", "subagent"), "wait_agent\nCodex worker result.\n"),
        (("claude_code", "tools-old"), "notes.txt has been updated successfully.\n"),
        (("qwen_code", "refused-todos"), "run_shell_command\nExit code 3\noops\n"),
        (
            ("copilot_cli", "background-agent"),
            "[Tool result] read_agent\n[Turn 0]\nSlow worker result.\n",
        ),
        (
            ("copilot_cli", "background-agent"),
            '[Notification] Agent "slow-job" (general-purpose) has finished processing',
        ),
        (("gemini_cli", "subagent"), '\n{\n  "response": "There are two files."\n}'),
        (("opencode", "subagent"), "[Tool result] task\nOpenCode worker result.\n"),
        (
            ("qwen_code", "background-agent"),
            '[Notification] Agent "Slow job" completed: Slow worker result.\n',
        ),
    ],
    indirect=["session"],
    ids=str,
)
def test_a_transcript_shows_the_text_of_results_and_notifications(
    session: Session, block: str
):
    texts = [body.decode() for body in render(session, "leslie").values()]

    assert any(block in text for text in texts)


@pytest.mark.parametrize("session", [("claude_code", "compacted")], indirect=True)
def test_a_compaction_between_turns_is_no_question_in_a_transcript(session: Session):
    texts = [body.decode() for body in render(session, "leslie").values()]

    assert texts
    assert not any("focus on the parser" in text for text in texts)


@every_case
def test_rendering_is_deterministic(session: Session):
    for format_ in FORMATS:
        assert render(session, format_) == render(session, format_), format_


@every_case
def test_the_json_document_matches_its_schema(session: Session):
    document = json.loads(render_main_text(session, "json"))

    Draft202012Validator(SESSION, registry=REGISTRY).validate(document)
    assert document["session"]["id"] == session.summary.key.session_id


@every_case
def test_json_lines_contain_every_record_and_match_the_schema(session: Session):
    lines = [
        json.loads(line) for line in render_main_text(session, "jsonl").split("\n")[:-1]
    ]

    for line in lines:
        Draft202012Validator(RECORD).validate(line)
    assert [line["entry_id"] for line in lines] == list_entry_ids(session.units)


@every_case
def test_weakincentives_entries_are_complete_and_numbered(session: Session):
    text = render_main_text(session, "weakincentives")
    lines = [json.loads(line) for line in text.split("\n")[:-1]]

    assert len(lines) == len(list_entry_ids(session.units))
    for line in lines:
        assert line["role"] in ("system", "user", "assistant", "tool")
        assert re.fullmatch(r"primary|subagent:.+", line["source"])
        assert isinstance(line["content"], str)
        assert line["tool_input"] is None or isinstance(line["tool_input"], dict)
    for source in {line["source"] for line in lines}:
        numbers = [line["sequence"] for line in lines if line["source"] == source]
        assert numbers == sorted(numbers)


@every_case
def test_devflow_loads_every_run_and_its_tokens_add_up(
    session: Session, tmp_path: Path
):
    write_artifacts(tmp_path / "base", load_sinks()["devflow"].render(session))

    runs = sorted((tmp_path / "base" / "runs").iterdir())
    loaded = [DevflowRun(tmp_path / "base", run.name) for run in runs]

    for run, folder in zip(loaded, runs, strict=True):
        assert run.run_id == folder.name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d-[a-z-]+-[\w-]+", run.run_id)
        metadata = json.loads((folder / "metadata.json").read_text())
        assert metadata["turnCount"] == len(run.turns)
        for total, count in (
            ("totalTokensIn", "tokensIn"),
            ("totalTokensOut", "tokensOut"),
        ):
            assert run.metadata[total] >= sum(t.get(count, 0) for t in run.turns)
    output_tokens = sum(run.metadata["totalTokensOut"] for run in loaded)
    streams = [
        session.units,
        *([u] for u in iter_units(session.units) if u.summary.is_subagent),
    ]
    assert output_tokens == sum(
        sum_unit_usage(units).output_tokens for units in streams
    )


@every_case
def test_chibi_entries_have_the_required_fields(session: Session):
    files = render(session, "chibi")

    names = {path.rpartition("/")[2] for path in files}
    assert {"context.jsonl", "transcript.md"} <= names
    assert names <= {
        "context.jsonl", "transcript.md", "transcript_archive.jsonl", "inbox.jsonl",
    }  # fmt: skip
    required_fields = {"id", "timestamp", "from", "to", "content"}
    for path, body in files.items():
        if not path.endswith(".jsonl"):
            continue
        for line in map(json.loads, body.decode().split("\n")[:-1]):
            assert required_fields <= line.keys()
            assert line.keys() <= required_fields | {"entry_type", "metadata"}
            assert isinstance(line["timestamp"], int)
            assert isinstance(line["content"], str)
            assert ("entry_type" in line) == ("inbox" not in path)


@every_case
def test_leslie_transcripts_can_be_parsed(session: Session):
    for path, body in render(session, "leslie").items():
        document = parse_document(body.decode())

        assert document.thread_id == session.summary.thread_id
        assert bool(document.source) == ("/subagents/" in path)


@pytest.mark.threat("R2", "R3")
@every_case
def test_an_html_page_is_complete_and_loads_nothing(session: Session):
    page = render_main_text(session, "html")

    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert page.count("<details") == page.count("</details>")
    assert not re.search(
        r"<(script|img|link|iframe|object|embed)\b|@import|url\(", page
    )
