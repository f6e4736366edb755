"""`leslied show`, piped and at a terminal."""

from __future__ import annotations

import re
import subprocess
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
    """One session with something of everything, over and read."""
    write_sample_session(claude)
    command = LesliedRunner(home)
    assert command("sync", "--stop-all").code == 0
    return command


def units(leslied: LesliedRunner, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = leslied("show", "last", "--json", *words).json[
        "data"
    ]["units"]
    return found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plain", ()),
        ("full", ("--full", "--unit", "1")),
        ("summary", ("--summary",)),
        ("log", ("--style", "log")),
        ("leslie", ("--style", "leslie", "--unit", "-1")),
        ("markdown", ("--style", "markdown", "--no-tools", "--no-subagents")),
    ],
)
def test_a_pipe_gets_the_golden_text(
    leslied: LesliedRunner,
    name: str,
    words: tuple[str, ...],
    request: pytest.FixtureRequest,
):
    told = leslied("show", "last", *words).out

    assert "\x1b" not in told
    assert told == load_golden(GOLDEN / f"{name}.txt", told, request.config)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_gets_the_golden_page(
    leslied: LesliedRunner, columns: int, request: pytest.FixtureRequest
):
    told = run_at_terminal(leslied, "show", "last", "--thinking", columns=columns)

    shown = show_escapes(told)
    assert shown == load_golden(
        GOLDEN / f"terminal-{columns}.txt", shown, request.config
    )


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_what_a_pipe_gets(
    leslied: LesliedRunner, environ: dict[str, str]
):
    told = run_at_terminal(leslied, "show", "last", **environ)

    assert told == leslied("show", "last").out


def test_nothing_in_a_log_can_command_the_terminal(
    leslied: LesliedRunner, claude: ClaudeHome
):
    """R1: every control character, and sequences that terminals obey."""
    evil = "".join(map(chr, [*range(32), *range(127, 160)])) + "\u202e"
    evil += "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\x\x1b]0;t\x07\x1b[2J\x1bc\x9b31m"
    evil += "&#27;[2J&#13;&#155;&#x202e;"
    talk = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555", cwd=f"/home/{evil}")
    edit = {"file_path": evil, "old_string": evil, "new_string": "x" + evil}
    claude.write(
        talk.prompt(evil),
        talk.think(evil),
        talk.answer(f"{evil}\n\n```sh\n{evil}\n```\n[{evil}](http://{evil})"),
        talk.call(evil, {"command": evil}, "t1"),
        talk.result("t1", evil),
        talk.call("Edit", edit, "t2"),
        name="evil/22222222-2222-4333-8444-555555555555.jsonl",
    )
    leslied("sync", "--stop-all")

    told = "".join(
        run_at_terminal(leslied, *words)
        for words in (
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

    rest = COLOUR.sub("", told).replace("\n", "").replace("\t", "")
    assert "␛]52;c" in rest
    assert not {c for c in rest if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"}


def test_the_pager_gets_the_page(leslied: LesliedRunner, tmp_path: Path):
    kept = tmp_path / "page"
    pager = f"{sys.executable} -c \"import sys; open('{kept}', 'w').write(input())\""

    told = run_at_terminal(leslied, "show", "last", LESLIED_PAGER=pager)

    assert told == ""
    assert "The parser loses the last line." in kept.read_text()


@pytest.mark.parametrize("pager", ["true", "no-such-pager-anywhere"])
def test_a_pager_that_quits_or_is_missing_is_no_trouble(
    leslied: LesliedRunner, pager: str
):
    told = run_at_terminal(leslied, "show", "last", LESLIED_PAGER=pager)

    assert "Traceback" not in told
    assert ("Gladly." in told) == (pager != "true")


def test_no_pager_prints_at_once(leslied: LesliedRunner):
    told = run_at_terminal(leslied, "show", "last", "--no-pager", LESLIED_PAGER="true")

    assert "Gladly." in told


def test_only_the_answers_are_told_for_a_pipe(leslied: LesliedRunner):
    told = leslied("show", "last", "--assistant", "--last", "1").out

    assert told == "Gladly.\n"


def test_json_honours_what_was_chosen(leslied: LesliedRunner):
    (last,) = units(leslied, "--unit", "-1")
    (first,) = units(leslied, "--first", "1", "--no-tools", "--no-subagents")
    (answers,) = units(leslied, "--unit", "1", "--assistant")

    assert (last["number"], last["prompt"]) == (2, "thanks")
    assert (first["number"], first["tool_calls"], first["subagents"]) == (1, 5, [])
    assert not {"tool_use", "tool_result"} & {e["type"] for e in first["entries"]}
    assert {e["type"] for e in answers["entries"]} == {"assistant_message"}


def test_json_stays_whole_where_nothing_was_chosen(leslied: LesliedRunner):
    before, first, _ = units(leslied)

    assert before["prompt"] == ""
    assert "thinking" in {entry["type"] for entry in first["entries"]}
    assert first["subagents"][0]["id"] == "a5c0041"


def test_a_summary_as_json_has_no_entries(leslied: LesliedRunner):
    first = units(leslied, "--summary")[1]

    assert (first["tool_calls"], first["entries"]) == (5, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--unit", "1", "--first", "2"), "--unit and --first contradict"),
        (("--full", "--summary"), "--full and --summary contradict"),
        (("--tool-output", "--no-tools"), "--tool-output and --no-tools contradict"),
        (("--style", "log", "--full"), "--style log knows no --full"),
        (("--style", "leslie", "--thinking"), "--style leslie knows no --thinking"),
        (("--unit", "7"), "There is no unit 7: the session has 1 to 2."),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(
    leslied: LesliedRunner, words: tuple[str, ...], said: str
):
    ran = leslied("show", "last", *words)

    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_chat_is_one_unit_already(leslied: LesliedRunner):
    chat = units(leslied)[1]["chat_id"]

    ran = leslied("show", chat, "--last", "1")

    assert ran.code == 2
    assert "nothing in it to choose from" in ran.err


def test_secrets_are_hidden_at_a_terminal_too(
    leslied: LesliedRunner, claude: ClaudeHome
):
    secret = "ghp_" + "a1B2" * 9
    talk = ClaudeLogBuilder("33333333-2222-4333-8444-555555555555")
    write = {"file_path": "/x", "content": f"token = {secret}"}
    claude.write(
        talk.prompt("go"),
        talk.call("Write", write, "t1"),
        talk.answer(f"It is `{secret}`."),
        name="other/33333333-2222-4333-8444-555555555555.jsonl",
    )
    leslied("sync")

    hidden = run_at_terminal(leslied, "show", "33333333", columns=200)
    shown = run_at_terminal(leslied, "show", "33333333", "--reveal", columns=200)

    assert secret not in hidden
    assert shown.count(secret) == 2


@pytest.mark.parametrize("command", ["show", "follow"])
def test_help_needs_nothing_heavy(leslied: LesliedRunner, command: str):
    code = (
        "import sys; from leslied.cli import leslied\n"
        f"leslied.main(['{command}', '--help'], standalone_mode=False)\n"
        "heavy = {'rich', 'pydantic', 'pygments', 'structlog', 'watchdog'}\n"
        "print('heavy:', heavy & set(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=leslied.environ,
        capture_output=True,
        check=False,
        text=True,
    )

    assert done.stdout.endswith("heavy: set()\n"), done.stderr
