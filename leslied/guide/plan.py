"""Deciding what a file becomes; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leslied.errors import UserError
from leslied.guide.block import (
    GuideBlock,
    append_block,
    find_blocks,
    remove_block,
    replace_block,
)
from leslied.guide.version import compare_versions

if TYPE_CHECKING:
    from leslied.guide.text import Guide

PlanStatus = Literal[
    "created", "appended", "updated", "unchanged", "skipped", "removed", "absent"
]
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidePlan:
    """What a file becomes: its bytes afterwards, None where it is then not there."""

    status: PlanStatus
    data: bytes | None
    previous_version: str | None = None
    next_version: str | None = None
    needs_consent: bool = False

    @property
    def was_edited(self) -> bool:
        """Somebody had changed the text of the very version that is put back."""
        is_same = self.previous_version == self.next_version
        return self.status == "updated" and is_same


def plan_init(data: bytes | None, guide: Guide) -> GuidePlan:
    """The file with this guide in it, once."""
    if data is None:
        text = guide.text + b"\n"
        return GuidePlan(status="created", data=text, next_version=guide.version)
    _refuse_utf16(data)
    blocks = find_blocks(data)
    if not blocks:
        text = append_block(data, guide.text)
        return GuidePlan(status="appended", data=text, next_version=guide.version)
    if len(blocks) > 1:
        raise UserError(
            f"There is more than one guide, on lines {_format_lines(blocks)}: "
            "nothing was changed.",
            "To take all of them out: leslied init --remove",
        )
    return _plan_update(data, blocks[0], guide)


def plan_remove(data: bytes | None) -> GuidePlan:
    """The file without any guide; where nothing else ever was in it, no file."""
    blocks = find_blocks(data) if data is not None else []
    if data is None or not blocks:
        return GuidePlan(status="absent", data=data)
    rest = data
    for block in reversed(blocks):
        rest = remove_block(rest, block)
    # `init` makes a new file begin with the block, an empty one with a blank line.
    is_ours = not rest and blocks[0].start == 0
    version = blocks[0].version
    return GuidePlan(
        status="removed", data=None if is_ours else rest, previous_version=version
    )


def _plan_update(data: bytes, block: GuideBlock, guide: Guide) -> GuidePlan:
    step = compare_versions(block.version, guide.version)
    if step == "older":
        raise UserError(
            f"The guide there has version {block.version}, this leslied brings "
            f"{guide.version}: nothing was changed.",
            "Bring leslied up to date, or take the guide out: leslied init --remove",
        )
    old = data[block.start : block.end].replace(b"\r\n", b"\n")
    is_equal = old == guide.text
    return GuidePlan(
        status="unchanged" if is_equal else "updated",
        data=data if is_equal else replace_block(data, block, guide.text),
        previous_version=block.version,
        next_version=guide.version,
        needs_consent=step in ("major", "unknown"),
    )


def _refuse_utf16(data: bytes) -> None:
    if data.startswith(_UTF16_BOMS):
        raise UserError(
            "The file is in UTF-16, the guide in UTF-8: nothing was changed.",
            "Save the file in UTF-8, then try again.",
        )


def _format_lines(blocks: list[GuideBlock]) -> str:
    *most, last = (str(block.line) for block in blocks)
    return f"{', '.join(most)} and {last}"
