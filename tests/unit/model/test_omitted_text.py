"""A text can be represented by its beginning and its size."""

from __future__ import annotations

from leslied.model.omitted_text import OmittedText, add_prefix, count_bytes, load_whole

WHOLE = "text 汉字"


def make_omitted() -> OmittedText:
    texts = {(7, "content"): WHOLE}
    return OmittedText("text", 11, lambda *key: texts[key], 7, "content")


def test_an_omitted_text_is_loaded_when_it_is_needed():
    omitted = make_omitted()

    assert omitted == "text"
    assert load_whole(omitted) == WHOLE
    assert load_whole("plain") == "plain"


def test_the_size_of_an_omitted_text_is_that_of_the_whole():
    assert count_bytes(make_omitted()) == count_bytes(WHOLE) == 11


def test_a_prefix_can_be_added_to_an_omitted_text():
    omitted = add_prefix("(é)", add_prefix("b ", make_omitted()))

    assert omitted.startswith("(é)b text")
    assert load_whole(omitted) == "(é)b " + WHOLE
    assert count_bytes(omitted) == count_bytes("(é)b " + WHOLE)
    assert add_prefix("a", "b") == "ab"
