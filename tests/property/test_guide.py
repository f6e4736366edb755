"""Adding and removing the guide keeps every byte of any file."""

from __future__ import annotations

import os
import re

from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from leslied.errors import UserError
from leslied.guide import Guide, load_guide, plan_init, plan_remove
from leslied.guide.block import find_blocks

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))
EXAMPLE_SETTINGS = settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, database=None
)
GUIDE = load_guide()
TAG = b'<leslie_system_guide version="1.0.0" description="x">'
END = b"</leslie_system_guide>"
LINE_ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b""]
PIECES = [
    *LINE_ENDS,
    *(b"```", b"~~~", b"````md", b"   ```", b"~~~~", b"``` `", b"    "),
    *(TAG, END, TAG + END, b"<leslie_system_guide", b"<leslie_system_guide version="),
    *(TAG[:-1], b'"', b">", b" ", b"\xef\xbb\xbf", b"\xff", b"\0", b"prose"),
]
FILES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join),
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from(LINE_ENDS)), max_size=10
    ).map(lambda pairs: b"".join(piece + end for piece, end in pairs)),
)


def _init(data: bytes | None, guide: Guide = GUIDE) -> bytes | None:
    """Return the file after `init`; reject the example if `init` refuses it."""
    try:
        return plan_init(data, guide).data
    except UserError:
        reject()


def _assume_no_guide(data: bytes) -> None:
    """Reject the example if the file contains a guide or an invalid block."""
    try:
        assume(not find_blocks(data))
    except UserError:
        reject()


@EXAMPLE_SETTINGS
@given(FILES)
@example(b"")
@example(b"\r")
@example(b"a\r\nb\r")
@example(b"\xef\xbb\xbf")
@example(b"\n")
@example(b"```\n~~~\n")
@example(b"<leslie_system_guide version=")
def test_remove_after_init_restores_every_byte(data: bytes):
    _assume_no_guide(data)

    assert plan_remove(_init(data)).data == data


@EXAMPLE_SETTINGS
@given(FILES)
def test_a_second_init_changes_nothing(data: bytes):
    data_with_guide = _init(data)

    plan = plan_init(data_with_guide, GUIDE)

    assert (plan.status, plan.data) == ("unchanged", data_with_guide)


@EXAMPLE_SETTINGS
@given(FILES)
def test_init_keeps_the_existing_text(data: bytes):
    _assume_no_guide(data)
    result = _init(data)

    assert result is not None
    assert result.startswith(data)
    assert len(find_blocks(result)) == 1


@EXAMPLE_SETTINGS
@given(FILES, FILES)
def test_an_update_changes_only_the_block(before: bytes, after: bytes):
    old = TAG + b"\nold\n" + END
    data = before + b"\n" + old + b"\n" + after
    try:
        blocks = find_blocks(data)
    except UserError:
        reject()
    start = len(before) + 1
    assume(
        [(block.start, block.end) for block in blocks] == [(start, start + len(old))]
    )

    updated = _init(data)

    assert updated == before + b"\n" + GUIDE.text + b"\n" + after


@EXAMPLE_SETTINGS
@given(FILES)
def test_remove_after_an_update_restores_every_byte(data: bytes):
    _assume_no_guide(data)
    older = Guide("3.0.0", re.sub(rb'version="[^"]*"', b'version="3.0.0"', GUIDE.text))

    updated = _init(_init(data, older))

    assert plan_remove(updated).data == data
