"""Secrets are found however they are written, and nothing else is touched."""

from __future__ import annotations

import json
import re
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.redact import Redactor, Rule, SecretFinder
from leslied.redact.rules import RULES
from leslied.redact.rules._rule import WORD_START

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
redact = Redactor(b"key").redact

MASKED_TEXTS = (SECRET, f"\n{SECRET}\\", "password = k3yW0rd9", f"é{SECRET}🚀")
WRITTEN_FORMS = {
    "alone": SECRET,
    "in JSON": json.dumps({"a": SECRET}),
    "as a key": json.dumps({SECRET: 1}),
    "after an escaped line break": json.dumps(f"x\n{SECRET}"),
    "in JSON in JSON": json.dumps(json.dumps({"a": json.dumps(f"\n{SECRET}")})),
    "with an escaped first letter": "\\u0067" + SECRET[1:],
    "with an escaped underscore": SECRET.replace("_", "\\u005f"),
    "after an escaped equals sign": "token\\u003d" + SECRET,
    "between escaped quotes": "\\u0022" + SECRET + "\\u0022",
    "after an escaped bracket": "\\u003c" + SECRET + "\\u003e",
    "after a percent escape": "token%3D" + SECRET,
    "twice percent-encoded": quote(quote(f"token={SECRET}")),
    "as HTML": escape(f'<a title="{SECRET}">'),
    "coloured by grep": f"\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K{SECRET[4:]}",
    "with an escaped colour code": json.dumps(
        f"\x1b[31m{SECRET[:9]}\x1b[0m{SECRET[9:]}"
    ),
    "in Markdown italics": f"_{SECRET}_",
    "in Markdown bold": f"**{SECRET}**",
    "with a zero-width space": SECRET[:10] + "\u200b" + SECRET[10:],
    "after a character that grows in lower case": "\u0130" + f" {SECRET}",
    "beside half a character": f"\ud800 {SECRET}",
}


@pytest.mark.threat("S4")
@pytest.mark.parametrize("form", WRITTEN_FORMS)
def test_a_secret_is_found_however_it_is_written(form: str):
    redacted = redact(WRITTEN_FORMS[form])

    assert "[REDACTED:github:" in redacted
    assert SECRET[12:24] not in redacted


def test_equal_secrets_have_equal_markers_in_every_form():
    markers = {
        redact(text).partition("github:")[2][:4] for text in WRITTEN_FORMS.values()
    }

    assert len(markers) == 1


@pytest.mark.threat("S5")
@given(st.recursive(st.text() | st.just(f"\n{SECRET}\\"), st.lists, max_leaves=5))
def test_redacted_json_is_valid_json(value: object):
    redacted = redact(json.dumps(value))

    json.loads(redacted)
    assert SECRET not in redacted


@pytest.mark.threat("S1")
@given(st.text(alphabet="ab\\n\"'%0dufe&#;:=\x1b[m_ \n", max_size=60), st.text())
def test_a_secret_is_found_between_any_texts(before: str, after: str):
    assert SECRET[4:] not in redact(f"{before} {SECRET} {after}")


@given(st.text())
def test_redacting_again_changes_nothing(text: str):
    once = redact(f"{text} password: {SECRET} {text}")

    assert redact(once) == once


@pytest.mark.threat("S6")
@pytest.mark.parametrize(
    "text",
    ["://", "sk-", "-----END ", "password=", "a:", "eyJ.", "\\u0041", 'key="'],
)
def test_text_of_anchors_is_searched_with_bounded_work(text: str):
    assert len(redact(text * 20_000)) > 0


@given(st.lists(st.sampled_from([*MASKED_TEXTS, "naïve 🚀", '"', "\\"])))
def test_a_mask_keeps_the_length_and_the_json(texts: list[str]):
    data = json.dumps(texts).encode()

    masked = Redactor(b"key").mask(data)

    assert len(masked) == len(data)
    assert len(json.loads(masked)) == len(texts)
    assert Redactor(b"key").mask(masked) == masked


def test_an_anchor_may_have_letters_of_any_alphabet():
    finder = SecretFinder([Rule("pin", ("ключ=",), r"[Кк]люч=(?P<secret>\d{4})")])

    (secret,) = finder.find("İ 漢字 Ключ=4712 ключ= ????=4712")

    assert secret.value == "4712"


@pytest.mark.threat("S6")
def test_no_anchor_is_found_everywhere_in_a_text_that_is_not_ascii():
    anchors = {anchor for rule in RULES for anchor in rule.anchors}

    assert [anchor for anchor in anchors if not re.search("[\0-\x7f]", anchor)] == []


def test_a_full_width_colon_is_a_colon():
    finder = SecretFinder([Rule("pin", ("码:",), r"码[:：](?P<secret>\d{4})")])

    (secret,) = finder.find("漢字 密码：4712 漢字")

    assert secret.value == "4712"


class CountingPattern:
    """A pattern that never matches, and knows where it was tried."""

    def __init__(self) -> None:
        self.positions: list[int] = []

    def match(self, _text: str, start: int, _end: int) -> None:
        self.positions.append(start)


def test_a_rule_of_words_is_not_tried_inside_a_word():
    rule = Rule("token", ("pat",), rf"{WORD_START}pat\d{{9}}")
    pattern = CountingPattern()
    vars(rule)["pattern"] = pattern

    SecretFinder([rule]).find("pat path _pat spat 1pat épat -pat")

    assert pattern.positions == [0, 4, 10, 25, 30]


def test_the_end_of_a_secret_is_only_looked_for_behind_its_lead():
    ends: list[int] = []

    def find_end(_text: str, end: int) -> int:
        ends.append(end)
        return end

    rule = Rule("key", ("key ",), "key [0-9]{4}", lead="begin ", find_end=find_end)
    finder = SecretFinder([rule])

    assert [secret.value for secret in finder.find("key 1234 begin key 5678")] == [
        "begin key 5678"
    ]
    assert ends == [23]
