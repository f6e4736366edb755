"""Test that a transcript costs what it shows, and shows no secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC

import pytest

from leslied.redact import Redactor
from leslied.sinks.leslie import (
    AssistantBlock,
    CallBlock,
    CutBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    TranscriptOptions,
    UserBlock,
    serialize_document,
    shape_document,
)
from tests.support.records import make_prompt, make_record
from tests.support.units import make_call, make_child, make_result, make_unit

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
MEGABYTE = "a line of text, as long as many others\n" * 27_000


@dataclass
class CountingRedactor:
    """A redactor that counts the characters it was asked for."""

    redactor: Redactor = field(default_factory=lambda: Redactor(b"key"))
    characters: int = 0

    def redact(self, text: str) -> str:
        self.characters += len(text)
        return self.redactor.redact(text)

    def redact_prefix(self, text: str, length: int) -> str:
        self.characters += min(length, len(text))
        return self.redactor.redact_prefix(text, length)


@pytest.fixture
def redactor() -> CountingRedactor:
    return CountingRedactor()


@pytest.fixture
def options(redactor: CountingRedactor) -> TranscriptOptions:
    return TranscriptOptions(thread_id="thread-1", zone=UTC, redactor=redactor)


def list_texts(document: TranscriptDocument) -> list[str]:
    return [getattr(block, "text", "") for block in document.blocks]


@pytest.mark.threat("S2")
@pytest.mark.parametrize("start", [0, 100, 160, 199, 230, 390, 800])
def test_a_secret_at_any_place_of_a_result_is_not_shown(
    start: int, options: TranscriptOptions
):
    text = "x" * start + f" {SECRET} " + "y" * 5_000
    unit = make_unit(make_prompt("go"), make_result("1", text))

    shown = serialize_document(shape_document(unit, options))

    assert SECRET[:8] not in shown
    assert SECRET[-8:] not in shown


@pytest.mark.threat("S2")
@pytest.mark.parametrize("lines", [170, 185, 199])
def test_no_part_of_a_secret_after_many_blank_lines_is_shown(
    lines: int, options: TranscriptOptions
):
    text = "\r\n" * lines + f"{SECRET} " + "y" * 5_000
    unit = make_unit(make_prompt("go"), make_result("1", text))

    shown = serialize_document(shape_document(unit, options))

    assert SECRET[:8] not in shown


@pytest.mark.threat("S1")
def test_secrets_in_names_and_ids_are_not_shown(options: TranscriptOptions):
    child = make_child(make_record("hi"), name=SECRET)
    unit = make_unit(
        make_prompt(SECRET), make_call(SECRET, SECRET, "1"), subagents=(child,)
    )

    blocks = shape_document(unit, options).blocks
    shown_child = serialize_document(shape_document(child, options))

    assert {type(block) for block in blocks} == {
        *(UserBlock, CallBlock, ResultBlock, SubagentBlock)
    }
    assert SECRET not in repr(blocks) + shown_child


def test_of_a_long_result_little_more_is_redacted_than_shown(
    redactor: CountingRedactor, options: TranscriptOptions
):
    results = [make_result(str(number), MEGABYTE) for number in range(20)]

    shape_document(make_unit(make_prompt("go"), *results), options)

    assert redactor.characters < 20 * 500


def test_of_a_unit_with_many_blocks_only_those_around_the_cut_are_made(
    redactor: CountingRedactor, options: TranscriptOptions
):
    results = [make_result(str(n), "line\n" * 30) for n in range(5_000)]

    document = shape_document(make_unit(make_prompt("go"), *results), options)

    assert sum(isinstance(block, CutBlock) for block in document.blocks) == 1
    assert redactor.characters < 5 * options.limits.file


def test_a_cut_counts_the_bytes_of_the_whole_texts(options: TranscriptOptions):
    texts = ["é" * 300 for _ in range(500)]
    results = [make_result(str(n), text) for n, text in enumerate(texts)]

    document = shape_document(make_unit(make_prompt("go"), *results), options)

    (cut,) = [block for block in document.blocks if isinstance(block, CutBlock)]
    assert cut.omitted_bytes == cut.omitted_blocks * 600


def test_a_prompt_keeps_its_start_and_its_end(options: TranscriptOptions):
    unit = make_unit(make_prompt(f"start {'x' * 100_000} end"))

    (text,) = list_texts(shape_document(unit, options))

    assert text.startswith("start")
    assert text.endswith("end")


def test_of_an_extremely_long_prompt_only_the_start_is_redacted(
    redactor: CountingRedactor, options: TranscriptOptions
):
    unit = make_unit(make_prompt(MEGABYTE * 10))

    (text,) = list_texts(shape_document(unit, options))

    assert text.startswith("a line of text")
    assert f"[{len(MEGABYTE) * 10} bytes in all: " in text
    assert redactor.characters <= 1_000_100


def test_the_last_answer_is_shown_even_if_it_is_extremely_long(
    options: TranscriptOptions,
):
    unit = make_unit(make_prompt("go"), make_record(MEGABYTE * 2))

    document = shape_document(unit, options)

    assert isinstance(document.blocks[-1], AssistantBlock)
    assert len(serialize_document(document).encode()) <= options.limits.file
