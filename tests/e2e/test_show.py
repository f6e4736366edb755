"""`leslied show`, piped and at a terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, load_golden
from tests.support.pages import write_sample_session
from tests.support.terminal import run_at_terminal, show_escapes

pytestmark = pytest.mark.e2e
GOLDEN = FIXTURES.parent / "pages"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Write and sync the sample session, marked as stopped."""
    write_sample_session(claude)
    command = LesliedRunner(home)
    assert command("sync", "--stop-all").code == 0
    return command


def show_units(leslied: LesliedRunner, *args: str) -> list[dict[str, Any]]:
    """Return the units that `leslied show last --json` prints."""
    data = leslied("show", "last", "--json", *args).json["data"]
    units: list[dict[str, Any]] = data["units"]
    return units


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("plain", ()),
        ("full", ("--full", "--unit", "1")),
        ("summary", ("--summary",)),
        ("log", ("--style", "log")),
        ("leslie", ("--style", "leslie", "--unit", "-1")),
        ("markdown", ("--style", "markdown", "--no-tools", "--no-subagents")),
    ],
)
def test_piped_output_matches_the_golden_file(
    leslied: LesliedRunner,
    name: str,
    args: tuple[str, ...],
    request: pytest.FixtureRequest,
):
    output = leslied("show", "last", *args).out

    assert "\x1b" not in output
    assert output == load_golden(GOLDEN / f"{name}.txt", output, request.config)


@pytest.mark.parametrize("columns", [80, 120])
def test_terminal_output_matches_the_golden_file(
    leslied: LesliedRunner, columns: int, request: pytest.FixtureRequest
):
    output = run_at_terminal(leslied, "show", "last", "--thinking", columns=columns)

    printable = show_escapes(output)
    assert printable == load_golden(
        GOLDEN / f"terminal-{columns}.txt", printable, request.config
    )


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_the_piped_output(
    leslied: LesliedRunner, environ: dict[str, str]
):
    output = run_at_terminal(leslied, "show", "last", **environ)

    assert output == leslied("show", "last").out


@pytest.mark.threat("R1")
def test_a_log_cannot_send_control_sequences_to_the_terminal(
    leslied: LesliedRunner, claude: ClaudeHome
):
    """Try every control character, and sequences that terminals execute."""
    hostile = "".join(map(chr, [*range(32), *range(127, 160)])) + "\u202e"
    hostile += (
        "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\x\x1b]0;t\x07\x1b[2J\x1bc\x9b31m"
    )
    hostile += "&#27;[2J&#13;&#155;&#x202e;"
    builder = ClaudeLogBuilder(
        "22222222-2222-4333-8444-555555555555", cwd=f"/home/{hostile}"
    )
    edit = {"file_path": hostile, "old_string": hostile, "new_string": "x" + hostile}
    claude.write(
        builder.prompt(hostile),
        builder.think(hostile),
        builder.answer(
            f"{hostile}\n\n```sh\n{hostile}\n```\n[{hostile}](http://{hostile})"
        ),
        builder.call(hostile, {"command": hostile}, "t1"),
        builder.result("t1", hostile),
        builder.call("Edit", edit, "t2"),
        name="evil/22222222-2222-4333-8444-555555555555.jsonl",
    )
    leslied("sync", "--stop-all")

    output = "".join(
        run_at_terminal(leslied, *args)
        for args in (
            ("show", "22222222"),
            ("show", "22222222", "--full"),
            ("show", "22222222", "--style", "log"),
            ("show", "22222222", "--style", "leslie"),
            ("show", "22222222", "--style", "markdown"),
            ("show", "22222222", "--summary"),
            ("follow", "22222222", "--once"),
            ("follow", "22222222", "--once", "--json"),
        )
    )

    text = COLOUR.sub("", output).replace("\n", "").replace("\t", "")
    assert "␛]52;c" in text
    assert not {c for c in text if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"}


def test_the_pager_gets_the_page(leslied: LesliedRunner, tmp_path: Path):
    page = tmp_path / "page"
    pager = f"{sys.executable} -c \"import sys; open('{page}', 'w').write(input())\""

    output = run_at_terminal(leslied, "show", "last", LESLIED_PAGER=pager)

    assert output == ""
    assert "The parser loses the last line." in page.read_text()


@pytest.mark.parametrize("pager", ["true", "no-such-pager-anywhere"])
def test_a_pager_that_quits_or_is_missing_causes_no_error(
    leslied: LesliedRunner, pager: str
):
    output = run_at_terminal(leslied, "show", "last", LESLIED_PAGER=pager)

    assert "Traceback" not in output
    # The page is lost in a pager that quits, and printed if there is no pager.
    is_printed = pager != "true"
    assert ("Gladly." in output) == is_printed


def test_the_option_no_pager_prints_directly(leslied: LesliedRunner):
    output = run_at_terminal(
        leslied, "show", "last", "--no-pager", LESLIED_PAGER="true"
    )

    assert "Gladly." in output


def test_the_option_assistant_prints_only_the_answers(leslied: LesliedRunner):
    output = leslied("show", "last", "--assistant", "--last", "1").out

    assert output == "Gladly.\n"


def test_json_respects_the_selection_options(leslied: LesliedRunner):
    (last,) = show_units(leslied, "--unit", "-1")
    (first,) = show_units(leslied, "--first", "1", "--no-tools", "--no-subagents")
    (answers,) = show_units(leslied, "--unit", "1", "--assistant")

    assert (last["number"], last["prompt"]) == (2, "thanks")
    assert (first["number"], first["tool_calls"], first["subagents"]) == (1, 5, [])
    assert not {"tool_use", "tool_result"} & {e["type"] for e in first["entries"]}
    assert {e["type"] for e in answers["entries"]} == {"assistant_message"}


def test_json_has_all_units_and_entries_without_selection_options(
    leslied: LesliedRunner,
):
    unit_0, unit_1, _ = show_units(leslied)

    assert unit_0["prompt"] == ""
    assert "thinking" in {entry["type"] for entry in unit_1["entries"]}
    assert unit_1["subagents"][0]["id"] == "a5c0041"


def test_a_summary_as_json_has_no_entries(leslied: LesliedRunner):
    first = show_units(leslied, "--summary")[1]

    assert (first["tool_calls"], first["entries"]) == (5, [])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--unit", "1", "--first", "2"), "--unit cannot be combined with --first"),
        (("--full", "--summary"), "--full cannot be combined with --summary"),
        (("--tool-output", "--no-tools"), "cannot be combined with --no-tools"),
        (("--style", "log", "--full"), "--style log does not support --full"),
        (("--style", "leslie", "--thinking"), "does not support --thinking"),
        (("--unit", "7"), "There is no unit 7: the session has units 1 to 2."),
    ],
)
def test_invalid_options_are_reported(
    leslied: LesliedRunner, args: tuple[str, ...], message: str
):
    result = leslied("show", "last", *args)

    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_units_cannot_be_selected_with_a_chat_id(leslied: LesliedRunner):
    chat = show_units(leslied)[1]["chat_id"]

    result = leslied("show", chat, "--last", "1")

    assert result.code == 2
    assert "--unit, --first and --last need a session" in result.err


@pytest.mark.threat("S1")
def test_secrets_are_redacted_at_a_terminal_too(
    leslied: LesliedRunner, claude: ClaudeHome
):
    secret = "ghp_" + "a1B2" * 9
    builder = ClaudeLogBuilder("33333333-2222-4333-8444-555555555555")
    tool_input = {"file_path": "/x", "content": f"token = {secret}"}
    claude.write(
        builder.prompt("go"),
        builder.call("Write", tool_input, "t1"),
        builder.answer(f"It is `{secret}`."),
        name="other/33333333-2222-4333-8444-555555555555.jsonl",
    )
    leslied("sync")

    redacted = run_at_terminal(leslied, "show", "33333333", columns=200)
    revealed = run_at_terminal(leslied, "show", "33333333", "--reveal", columns=200)

    assert secret not in redacted
    assert revealed.count(secret) == 2
