"""The log, and reports of crashes, contain no secrets and no control characters."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leslied.log import format_exception, make_logger, report_crashes
from leslied.redact import Redactor
from tests.support.queries import SECRET

pytestmark = pytest.mark.threat("S3", "R1")
HOSTILE = f"\x1b[31m\u202e{SECRET}\n2026-11-17 [info] forged"
redact = Redactor(b"k" * 32).redact


@pytest.fixture
def crash_reports() -> Iterator[None]:
    """Report crashes without secrets, and restore the hooks afterwards."""
    saved = sys.excepthook, threading.excepthook, warnings.showwarning
    report_crashes(lambda: redact)
    yield
    sys.excepthook, threading.excepthook, warnings.showwarning = saved


def raise_error() -> None:
    """Raise an error whose message is shown, because it names a file."""
    raise FileNotFoundError(HOSTILE)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {"path": HOSTILE},
        {HOSTILE: 1},
        {"paths": [HOSTILE]},
        {"counts": {HOSTILE: HOSTILE}},
    ],
)
def test_every_text_of_an_event_is_inert(
    capsys: pytest.CaptureFixture[str], fields: dict[str, Any], *, as_json: bool
):
    make_logger(redact, as_json=as_json).warning("source.error", **fields)

    text = capsys.readouterr().err
    assert SECRET not in text
    assert text.count("\n") == 1
    assert text[:-1].isprintable()


def test_numbers_stay_numbers(capsys: pytest.CaptureFixture[str]):
    make_logger(redact, as_json=True).info("ingest.scan", entries=3)

    assert json.loads(capsys.readouterr().err)["entries"] == 3


def test_a_logged_exception_is_inert(capsys: pytest.CaptureFixture[str]):
    log = make_logger(redact, as_json=True)
    try:
        raise_error()
    except FileNotFoundError:
        log.exception("daemon.retry")

    text = capsys.readouterr().err
    assert "raise_error" in text
    assert SECRET not in text
    assert text[:-1].isprintable()


def crash_in_a_thread() -> None:
    thread = threading.Thread(target=raise_error)
    thread.start()
    thread.join()


def crash() -> None:
    try:
        raise_error()
    except FileNotFoundError as error:
        sys.excepthook(FileNotFoundError, error, error.__traceback__)


def warn() -> None:
    warnings.showwarning(UserWarning(HOSTILE), UserWarning, "code.py", 1)


@pytest.mark.usefixtures("crash_reports")
@pytest.mark.parametrize("fail", [crash, crash_in_a_thread, warn])
def test_an_unexpected_error_is_reported_without_secrets(
    capsys: pytest.CaptureFixture[str], fail: Callable[[], None]
):
    fail()

    text = capsys.readouterr().err
    assert "[REDACTED:github:" in text
    assert SECRET not in text
    assert text.replace("\n", "").isprintable()
    assert "\n2026" not in text


@pytest.mark.usefixtures("crash_reports")
def test_a_crash_of_redaction_is_reported_without_the_message(
    capsys: pytest.CaptureFixture[str],
):
    def fail() -> Callable[[str], str]:
        raise ValueError(SECRET)

    report_crashes(fail)

    crash()

    text = capsys.readouterr().err
    assert "FileNotFoundError" in text
    assert SECRET not in text


def raise_with_content() -> None:
    """Raise errors that quote the text of a session, one because of the other."""
    try:
        int("text of a session")
    except ValueError as error:
        raise KeyError("text of a session") from error


def test_a_crash_is_reported_with_its_places_but_without_quoted_text():
    try:
        raise_with_content()
    except KeyError as error:
        # The line of code itself is part of a traceback.
        report = format_exception(error).replace('"text of a session"', "")

    assert "raise_with_content" in report
    assert report.index("ValueError") < report.index("KeyError")
    assert "text of a session" not in report


def test_exceptions_that_cause_each_other_are_formatted_once():
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__cause__ = second, first

    report = format_exception(first)

    assert (report.count("ValueError"), report.count("KeyError")) == (1, 1)
