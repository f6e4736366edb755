"""Test which units count as rewound."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import pytest

from leslied.model.record import Record
from leslied.model.times import to_us
from leslied.sessions.rewinds import (
    UNKNOWN_FORKS,
    EntryPlace,
    FirstEntry,
    count_current,
    iter_current,
    list_changed,
    list_rewound,
    update_forks,
)
from tests.support.records import make_event, make_prompt, make_record, time_at


@dataclass
class Conversation:
    """A session in memory: each turn is a prompt `p1` and an answer `a1`, and so on."""

    forks: str = ""
    units: int = 0
    places: dict[str, EntryPlace] = field(default_factory=dict)
    units_after: dict[str, int] = field(default_factory=dict)
    messages: dict[int, int] = field(default_factory=dict)

    def ask(self, parent: str = "", **metadata: object) -> None:
        """Add a turn; its prompt follows `parent`, or the last answer."""
        parent = parent or f"a{self.units}"
        facts = {"origin": "prompt", **metadata}
        self.update(make_prompt(parent_id=parent, metadata=facts))
        self.units += 1
        self.messages[self.units] = 1
        self.places[f"p{self.units}"] = EntryPlace(self.units, starts_unit=True)
        self.places[f"a{self.units}"] = EntryPlace(self.units, starts_unit=False)
        self.units_after[parent] = self.units

    def update(self, record: Record) -> None:
        self.forks = update_forks(self.forks, self.units, record, self)

    @property
    def rewound(self) -> list[int]:
        return list(chain(*list_rewound(self.forks, self.units)))

    def find_unit_after(self, parent_id: str) -> int:
        return self.units_after.get(parent_id, 0)

    def find_place(self, native_id: str, scope: str) -> EntryPlace | None:
        del scope
        return self.places.get(native_id)

    def find_first_entry(self, unit: int) -> FirstEntry:
        return FirstEntry(f"p{unit}", to_us(time_at(unit)), ordinal=10 * unit)

    def count_user_messages(self, unit: int) -> int:
        return self.messages[unit]


def make_conversation(*parents: str) -> Conversation:
    """Return a conversation with a turn for each parent."""
    conversation = Conversation()
    for parent in parents:
        conversation.ask(parent)
    return conversation


# Links


@pytest.mark.parametrize(
    ("parents", "rewound"),
    [
        (("", "", ""), []),
        (("", "", "", "a1"), [2, 3]),
        (("", "", "", "a1", ""), [2, 3]),
        (("", "", "", "a2", "a1"), [2, 3, 4]),
        (("", "", "", "a1", "", "a4"), [2, 3, 5]),
        (("", "", "a1", "a1"), [2, 3]),
    ],
)
def test_units_after_the_point_to_which_the_user_returned_are_rewound(
    parents: tuple[str, ...], rewound: list[int]
):
    assert make_conversation(*parents).rewound == rewound


def test_returning_to_a_rewound_branch_makes_it_current_again():
    conversation = make_conversation("", "", "a1")
    assert conversation.rewound == [2]

    conversation.ask("a2")

    assert conversation.rewound == [3]


def test_a_prompt_without_a_parent_takes_back_all_units_before_it():
    conversation = make_conversation("", "")

    conversation.ask("root", is_root=True)

    assert conversation.rewound == [1, 2]


def test_a_prompt_that_follows_an_unknown_entry_takes_back_nothing():
    assert make_conversation("", "", "gone").rewound == []


def test_a_command_after_a_rewind_takes_units_back_before_the_next_prompt():
    conversation = make_conversation("", "")
    conversation.update(make_prompt(parent_id="a1", metadata={"origin": "command"}))
    # The command is stored at the end of the unit that was taken back.
    conversation.places["command"] = EntryPlace(2, starts_unit=False)
    assert conversation.rewound == [2]

    conversation.ask("command")

    assert conversation.rewound == [2]


@pytest.mark.parametrize(("seconds", "rewound"), [(2, []), (9, [2, 3])])
def test_a_prompt_that_a_client_writes_again_takes_back_nothing(
    seconds: int, rewound: list[int]
):
    conversation = make_conversation("", "", "")
    prompt = make_prompt(parent_id="a1", created_at=time_at(seconds))
    conversation.update(prompt)
    conversation.units += 1

    assert conversation.rewound == rewound


def test_a_prompt_typed_while_the_agent_works_is_not_a_rewind():
    conversation = make_conversation("", "")

    conversation.update(make_prompt(parent_id="a1", metadata={"origin": "queued"}))

    assert conversation.rewound == []


# Several processes


def test_output_that_continues_a_unit_taken_back_shows_another_process():
    conversation = make_conversation("", "", "a1")

    conversation.update(make_record(parent_id="p2"))

    assert conversation.rewound == []


def test_output_that_continues_the_new_branch_changes_nothing():
    conversation = make_conversation("", "", "a1")

    conversation.update(make_record(parent_id="p3"))

    assert conversation.rewound == [2]


def test_processes_that_take_turns_take_back_nothing():
    assert make_conversation("", "", "a1", "a2", "a3", "a4").rewound == []


# Events


def test_an_event_takes_back_the_unit_of_its_first_entry():
    conversation = make_conversation("", "", "")

    conversation.update(make_event("rewound", metadata={"to": "p2"}))

    assert conversation.rewound == [2, 3]


def test_an_event_that_names_an_entry_before_the_first_prompt_takes_back_all():
    conversation = make_conversation("", "")
    conversation.places["context"] = EntryPlace(0, starts_unit=True)

    conversation.update(make_event("rewound", metadata={"to": "context"}))

    assert conversation.rewound == [1, 2]


def test_a_unit_is_not_rewound_if_only_its_end_was_taken_back():
    conversation = make_conversation("", "", "")

    conversation.update(make_event("rewound", metadata={"to": "a2"}))

    assert conversation.rewound == [3]


def test_an_event_takes_back_a_number_of_user_messages():
    conversation = make_conversation("", "", "")

    conversation.update(make_event("rewound", metadata={"turns": 2}))

    assert conversation.rewound == [2, 3]


def test_taking_back_the_last_message_of_a_unit_with_two_keeps_the_unit():
    conversation = make_conversation("", "")
    conversation.messages[2] = 2

    conversation.update(make_event("rewound", metadata={"turns": 1}))

    assert conversation.rewound == []


def test_two_events_before_the_next_prompt_add_up():
    conversation = make_conversation("", "", "")

    for _ in range(2):
        conversation.update(make_event("rewound", metadata={"turns": 1}))
    conversation.ask("new")

    assert conversation.rewound == [2, 3]


def test_more_turns_than_the_session_has_take_back_all():
    conversation = make_conversation("", "")

    conversation.update(make_event("rewound", metadata={"turns": 9}))

    assert conversation.rewound == [1, 2]


@pytest.mark.parametrize(("ordinal", "rewound"), [(20, [2, 3]), (21, [3]), (31, [])])
def test_an_event_takes_back_units_that_start_at_an_ordinal_or_later(
    ordinal: int, rewound: list[int]
):
    conversation = make_conversation("", "", "")

    conversation.update(make_event("rewound", metadata={"ordinal": ordinal}))

    assert conversation.rewound == rewound


def test_an_event_without_a_target_follows_the_last_entry_that_remains():
    conversation = make_conversation("", "", "")

    conversation.update(make_event("rewound", parent_id="a1"))

    assert conversation.rewound == [2, 3]


@pytest.mark.parametrize("metadata", [{}, {"to": "gone"}, {"turns": 0}, {"turns": "x"}])
def test_an_event_that_names_no_known_target_takes_back_nothing(
    metadata: dict[str, object],
):
    conversation = make_conversation("", "")

    conversation.update(make_event("rewound", metadata=metadata))

    assert conversation.rewound == []


def test_where_the_log_reports_rewinds_a_link_alone_takes_back_nothing():
    conversation = make_conversation("", "")

    conversation.ask("a1", has_rewind_events=True)
    assert conversation.rewound == []
    conversation.ask("a3", has_rewind_events=True)
    conversation.update(make_event("rewound"))

    assert conversation.rewound == []


def test_an_event_confirms_the_link_of_the_prompt_before_it():
    conversation = make_conversation("", "")
    conversation.ask("a1", has_rewind_events=True)

    conversation.update(make_event("rewound"))

    assert conversation.rewound == [2]


# Other functions


def test_forks_of_an_older_store_stay_unknown():
    assert update_forks(UNKNOWN_FORKS, 2, make_prompt(), Conversation()) == "unknown"
    assert list_rewound(UNKNOWN_FORKS, 2) == ()


@pytest.mark.parametrize(
    ("forks", "units", "current"),
    [
        ("", 0, []),
        ("", 2, [1, 2]),
        ("3:0", 2, []),
        ("3:0", 4, [3, 4]),
        ("3:1 6:4", 7, [1, 3, 4, 6, 7]),
    ],
)
def test_the_current_units_are_those_that_are_not_rewound(
    forks: str, units: int, current: list[int]
):
    assert list(iter_current(forks, units)) == current
    assert count_current(forks, units) == len(current)


def test_units_that_are_in_only_one_list_have_changed():
    assert list_changed((range(2, 4),), (range(3, 6),)) == [2, 4, 5]
