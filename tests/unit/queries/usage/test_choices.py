"""The values that filters can have."""

from __future__ import annotations

from leslied.model.record import Usage
from leslied.queries.usage.choices import load_choices
from tests.support.records import make_key, time_at
from tests.support.usage import OPUS, SECRET, SONNET, make_folder_event, make_message


def test_names_are_sorted_and_have_no_secrets(commit):
    context = commit(
        make_folder_event("/home/dev/app", "one"),
        make_folder_event(f"/home/dev/{SECRET}", "two"),
        make_message("a", time_at(0), Usage(1), session=make_key("one"), model=SONNET),
        make_message("b", time_at(0), Usage(1), session=make_key("two"), model=OPUS),
        make_message("c", time_at(0), Usage(1), session=make_key("three"), model=""),
    )

    assert load_choices(context).to_dict() == {
        "agents": ["claude-code"],
        "models": [OPUS, SONNET],
        "projects": ["/home/dev/[secret]", "/home/dev/app"],
    }
