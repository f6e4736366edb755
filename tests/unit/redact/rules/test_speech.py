"""What may stand between a name and its secret."""

from __future__ import annotations

import re

import pytest

from leslied.redact.rules._speech import SPEECH


@pytest.mark.parametrize(
    "text",
    [
        "** (staging): `",
        " for production should be ",
        " is now ",
        ". New value: ",
        " now, it is shown only once:\n",
        ":\n+   ",
        " **",
        " → ",
    ],
)
def test_words_and_marks_lead_to_the_value(text: str):
    assert re.match(rf"{SPEECH}VALUE1", f"{text}VALUE1", re.ASCII)


@pytest.mark.parametrize("text", [" id is ", " of the name: ", "(", " value ", ""])
def test_other_words_do_not(text: str):
    assert not re.match(rf"{SPEECH}VALUE1", f"{text}VALUE1", re.ASCII)
