"""Runs of devflow."""

from __future__ import annotations

import gzip
import json
from typing import Any

from leslied.model.record import Usage
from tests.support.imports import decode_file, split_file, summarize

NAME = "runs/r/transcript.json"


def decode(*turns: dict[str, Any], **metadata: Any):
    run = {"runId": "r", "metadata": metadata, "turns": turns}
    return decode_file("devflow", NAME, run).records[1:]


def test_a_compressed_run_is_kept_decompressed():
    data = json.dumps({"runId": "r", "turns": []}).encode()

    copies = split_file("devflow", "/x/transcript.json.gz", gzip.compress(data))

    assert copies == {NAME: data}


def test_a_damaged_compressed_run_is_not_imported():
    data = gzip.compress(b'{"runId": "r", "turns": []}')

    assert split_file("devflow", "/x/transcript.json.gz", data[:-9]) == {}


def test_a_call_has_a_result_only_with_an_output_or_an_error():
    calls = [{"name": "a", "output": ""}, {"name": "b"}, {"name": "c", "error": "x"}]

    records = decode({"role": "assistant", "toolCalls": calls})

    assert [(r.tool_name, r.content) for r in records if r.type == "tool_result"] == [
        ("a", ""),
        ("c", "x"),
    ]


def test_tokens_of_every_turn_count():
    records = decode(
        {"role": "user", "tokensIn": 5}, {"role": "assistant", "tokensOut": 7}
    )

    assert [r.usage for r in records if r.usage] == [Usage(5, 0), Usage(0, 7)]


def test_a_failed_run_ends_with_its_error():
    assert summarize(decode(status="failed", error="no"))[-1] == ("error", "no")


def test_a_run_with_a_parent_is_a_subagent():
    inputs = {"parentRunId": "p", "toolCallId": "c"}

    records = decode(nodeId="subagent:a", input=inputs)

    assert records[0].session[1:] == ("p", "subagent:a")
